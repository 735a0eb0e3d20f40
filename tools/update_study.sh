#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes reports/studies/validation, and the tables of README.md and docs/validation.md, again: every
# published set against the model as it is now. Takes under a minute. Fails when a bound is exceeded,
# after everything is written.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

study=reports/studies/validation
status=0
./paceline build
mkdir -p "$study"
./paceline validate --json "$study/result.json" --plot "$study/validation.svg" \
  >"$study/table.txt" || status=$?
./paceline validate nccl >"$study/nccl.txt" || status=$?
./paceline validate systems >"$study/systems.txt" || status=$?
./paceline validate schedules >"$study/schedules.txt" || status=$?
version=$(./paceline --version)

cat >"$study/README.md" <<TEXT
# Validation study

Every published set in \`scenarios/published\` against the predictions of $version.

| file | made by |
|---|---|
| \`table.txt\`, \`validation.svg\`, \`result.json\` | \`paceline validate --json result.json --plot validation.svg > table.txt\` |
| \`nccl.txt\` | \`paceline validate nccl > nccl.txt\` |
| \`systems.txt\` | \`paceline validate systems > systems.txt\` |
| \`schedules.txt\` | \`paceline validate schedules > schedules.txt\` |

\`tools/update_study.sh\` runs all and writes this folder; on one version every byte comes out the same.
What the columns mean: [measured-sets.md](../../../docs/measured-sets.md). What the numbers say, row by
row where the model is wrong: [validation.md](../../../docs/validation.md).

![Predicted against measured step times of all sets](validation.svg)
TEXT
tools/study_tables.py "$study/result.json" README.md docs/validation.md
exit "$status"
