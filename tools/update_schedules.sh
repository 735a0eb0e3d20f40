#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes docs/schedules.md and a picture of every schedule, docs/schedules/NAME.svg, again.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

./paceline build
mkdir -p docs/schedules
rm -f docs/schedules/*.svg
./paceline list schedules --json - | tools/schedule_page.py ./paceline docs
