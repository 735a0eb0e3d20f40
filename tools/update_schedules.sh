#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes docs/schedules.md and a picture of every schedule, docs/schedules/NAME.svg, again.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

./paceline build
tools/schedule_page.py ./paceline docs
