#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes reports/studies/jobs again: BACE-Pipe under 17 sets of assumptions. Takes some minutes. Fails
# when something the study expects does not show, after everything is written.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

out=reports/studies/jobs
study=scenarios/systems/bace-pipe/jobs.yaml
mkdir -p "$out"
./paceline build
status=0
./paceline jobs "$study" --instances 100 >"$out/bace_pipe.txt" || status=$?
./paceline jobs "$study" --plain --instances 1 --picture "$out/bace_pipe.svg" >/dev/null || true
exit "$status"
