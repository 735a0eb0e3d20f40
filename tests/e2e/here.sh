#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `validate here` measures, calibrates, predicts, runs and compares: that it does, on a machine that may
# be busy, not how well. Exit status 77 where MPI is missing.
#   here.sh PACELINE
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" validate here --quick --busy --folder "$folder" --json "$folder/answer.json"
status=$?
[[ $status != 3 ]] || exit 77
[[ $status == 0 ]] || { cat "$folder/output.txt"; exit "$status"; }
python3 - "$folder" <<'CHECK'
import json, math, pathlib, sys
folder = pathlib.Path(sys.argv[1])
answer = json.loads((folder / "answer.json").read_text())
cases = answer["cases"]
assert len(cases) >= 12, cases
for case in cases:
    assert case["problem"] == "", case
    assert case["predicted_s"] > 0 and case["measured_s"] > 0 and math.isfinite(case["error"]), case
kinds = {work["kind"] for work in answer["work"]}
assert {"kernel", "message", "collective", "optimizer"} <= kinds, kinds
assert all(math.isfinite(w["predicted_s"]) and w["measured_s"] >= 0 for w in answer["work"])
for name in ("samples.jsonl", "messages.jsonl", "here.json", "here-device.yaml"):
    assert (folder / name).stat().st_size > 0, name
CHECK
