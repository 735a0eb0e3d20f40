#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything worth knowing of a machine with one GPU, in one run of at most eight minutes:
#   tools/device_check.sh OUT
# checks every CUDA kernel against its reference (cuDNN's attention too, where libcudnn is found), measures,
# fits a profile, runs small steps, and leaves samples, profile, tables and logs in OUT. It needs no network: it takes the program that
# tools/device_bundle.sh packed beside it (device-bundle/), or one that is built already, and else builds
# base/ and kernels/ alone with the headers packed there, to check and measure kernels (samples.jsonl is
# for calibrate elsewhere). Each part has its own time limit; what cannot run is skipped, and the last
# lines say what ran. Without a GPU everything is skipped; the exit status is 0 unless a kernel is wrong.
set -uo pipefail
out=${1:?usage: tools/device_check.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
started=$SECONDS
limit=${PACELINE_DEVICE_SECONDS:-470}
ran=() skipped=() failed=()

left() { echo $((limit - (SECONDS - started))); }

# part NAME SECONDS COMMAND...: its output goes to OUT/NAME.txt.
part() {
  local name=$1 most=$2 status
  shift 2
  ((most < $(left))) || most=$(left)
  if ((most < 5)); then
    skipped+=("$name (no time left)")
    return 1
  fi
  timeout --kill-after=5 "$most" "$@" >"$out/$name.txt" 2>&1
  status=$?
  case $status in
    0) ran+=("$name") ;;
    3) skipped+=("$name ($(tail -n 1 "$out/$name.txt"))") ;;
    *) failed+=("$name (exit status $status)") ;;
  esac
  return $status
}

find_program() {
  local candidate
  for candidate in "${PACELINE_BINARY:-}" "$root/device-bundle/bin/paceline" "$root/build/bin/paceline"; do
    [[ -n $candidate && -x $candidate ]] && "$candidate" --version >"$out/version.txt" 2>&1 || continue
    echo "$candidate"
    return
  done
}

# The kernels alone: checks, and samples to calibrate elsewhere.
build_kernels() {
  local build=$root/build-device
  rm -rf "$build"
  cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DPACELINE_KERNELS_ONLY=ON \
    -DCMAKE_CUDA_ARCHITECTURES="${CUDAARCHS:-90}" >"$out/build.txt" 2>&1 &&
    timeout --kill-after=5 "$(left)" cmake --build "$build" --parallel "$(nproc)" \
      --target paceline_kernels_program >>"$out/build.txt" 2>&1 || return
  echo "$build/bin/paceline-kernels"
}

finish() {
  {
    printf 'device check, %d s\n' $((SECONDS - started))
    printf 'ran: %s\n' "${ran[@]:-nothing}"
    printf 'skipped: %s\n' "${skipped[@]:-nothing}"
    printf 'failed: %s\n' "${failed[@]:-nothing}"
  } | tee "$out/summary.txt"
  [[ " ${failed[*]:-} " != *[\ -]"check "* ]]
  exit
}

nvidia-smi >"$out/nvidia-smi.txt" 2>&1 || true

cd "$out" || exit 2
program=$(find_program)
if [[ -z $program ]]; then
  if ! kernels=$(build_kernels); then
    skipped+=("everything (no program here, and the kernels could not be built: see build.txt)")
  elif part check 150 "$kernels" check cuda; then
    part bench 200 "$kernels" bench samples.jsonl cuda
    part cudnn-check 60 "$kernels" check cuda attention-cudnn &&
      part cudnn-bench 60 "$kernels" bench cudnn.jsonl cuda attention-cudnn
  else
    skipped+=("bench (nothing is measured before check is fine)")
  fi
  finish
fi
if part check 120 "$program" bench --check --backend cuda; then
  part bench 200 "$program" bench --backend cuda --quick --out samples.jsonl
  # cuDNN's attention, where cuDNN is: a kernel of its own, and a curve of its own in the profile.
  if part cudnn-check 60 "$program" bench --check --backend cuda --only attention-cudnn; then
    part cudnn-bench 60 "$program" bench --backend cuda --quick --only attention-cudnn --out cudnn.jsonl
  fi
  measured=(samples.jsonl)
  [[ ! -s cudnn.jsonl ]] || measured+=(cudnn.jsonl)
  [[ -s samples.jsonl ]] && part calibrate 30 "$program" calibrate "${measured[@]}" --out device.json
  for scenario in "$root"/scenarios/device/*.yaml; do
    name=execute-$(basename "$scenario" .yaml)
    profile=()
    [[ ! -s device.json ]] || profile=(--set "profile=$out/device.json" --set attention=paceline)
    part "$name" 60 "$program" execute "$scenario" --backend cuda --details "$name.json" "${profile[@]}"
  done
else
  skipped+=("bench, calibrate and execute (nothing is measured before check is fine)")
fi
finish
