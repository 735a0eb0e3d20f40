#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tools/device_check.sh makes of a program's answers; that the program is right is tested elsewhere.
#   device_check.sh ROOT
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# A program that says `status` of --check and leaves what bench and calibrate leave.
cat >"$folder/paceline" <<'PROGRAM'
#!/usr/bin/env bash
echo "$*" >>"$CALLS"
case "$*" in
  *--check*attention-cudnn) echo "said of cuDNN"; exit "$CUDNN" ;;
  *attention-cudnn*--out*) echo "{}" >cudnn.jsonl ;;
  *--check*) echo "said by check"; exit "$CHECK" ;;
  bench*) echo "{}" >samples.jsonl; exit "$BENCH" ;;
  calibrate*) echo "{}" >device.json ;;
esac
PROGRAM
chmod +x "$folder/paceline"

# expect NAME STATUS CHECK BENCH SECONDS [CUDNN]: runs it; the summary is then in $summary, the calls in $calls.
expect() {
  local status
  rm -rf "$folder/out" "$folder/calls"
  CALLS=$folder/calls CHECK=$3 BENCH=$4 CUDNN=${6:-3} PACELINE_DEVICE_SECONDS=$5 PACELINE_BINARY=$folder/paceline \
    "$root/tools/device_check.sh" "$folder/out" >"$folder/said" 2>&1
  status=$?
  summary=$(cat "$folder/out/summary.txt") calls=$(cat "$folder/calls")
  name=$1
  [[ $status == "$2" ]] || wrong "status $status"
}
wrong() { echo "FAILED: $name: $1"; cat "$folder/said"; failures=$((failures + 1)); }
says() { [[ $summary == *"$1"* ]] || wrong "the summary lacks '$1'"; }
calls() { [[ $calls == *"$1"* ]] || wrong "no call '$1'"; }

root=$(readlink -f -- "$1")
expect "all of it" 0 0 0 400
for part in check bench calibrate execute-gpt_350m execute-llama_1b; do says "ran: $part"; done
calls "calibrate samples.jsonl --out device.json"
says "skipped: cudnn-check (said of cuDNN)"
calls "--set profile=$folder/out/device.json --set attention=paceline"
expect "cuDNN is there" 0 0 0 400 0
says "ran: cudnn-check"
calls "calibrate samples.jsonl cudnn.jsonl --out device.json"
expect "cuDNN is wrong: the rest is measured all the same" 1 0 0 400 1
says "failed: cudnn-check (exit status 1)"
says "ran: execute-llama_1b"
[[ $calls != *cudnn.jsonl* ]] || wrong "cuDNN was measured"
expect "without a GPU" 0 3 0 400
says "skipped: check (said by check)"
says "skipped: bench, calibrate and execute"
[[ $calls != *samples* ]] || wrong "something was measured"
expect "a wrong kernel" 1 1 0 400
says "failed: check (exit status 1)"
expect "bench stopped by its limit: its samples count" 0 0 124 400
says "failed: bench (exit status 124)"
says "ran: calibrate"
expect "no time" 0 0 0 4
says "skipped: check (no time left)"
((failures == 0)) && echo "device check: fine"
exit $((failures > 0))
