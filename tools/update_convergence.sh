#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes reports/studies/convergence again: every study of scenarios/convergence, or those named.
# Takes some minutes on two cores. Fails when something a study expects does not show, after
# everything is written.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

out=reports/studies/convergence
mkdir -p "$out"
./paceline build
status=0
if [ $# -eq 0 ]; then
  set -- scenarios/convergence/*.yaml
fi
for study in "$@"; do
  name=$(basename "$study" .yaml)
  picture=(--picture "$out/$name.svg")
  if ! grep -q '^objective:' "$study"; then picture=(); fi
  ./paceline converge "$study" "${picture[@]}" >"$out/$name.txt" || status=$?
done
exit "$status"
