#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a change must pass before it is pushed: `tools/check.sh [format|layering|tidy|test]...`, all
# four without arguments. tidy looks at the .cpp files that differ from BASE (origin/main, or else the
# last commit); ALL=1 looks at every one.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."

check_format() {
  local folder folders=()
  for folder in base models kernels sim calibrate reports cli tests; do
    [[ ! -d $folder ]] || folders+=("$folder")
  done
  find "${folders[@]}" \( -name '*.[ch]pp' -o -name '*.cu' \) -print0 | xargs -0 clang-format-14 --dry-run --Werror
}

check_layering() {
  python3 tests/layering.py --self-test
  python3 tests/layering.py .
}

changed_sources() {
  local base=${BASE:-origin/main}
  git rev-parse -q --verify "$base" >/dev/null || base=HEAD
  if [[ -n ${ALL:-} ]]; then
    git ls-files -- '*.cpp'
  else
    git diff --name-only --diff-filter=d "$base" -- '*.cpp'
    git ls-files --others --exclude-standard -- '*.cpp'
  fi
}

check_tidy() {
  cmake --preset default >/dev/null # writes compile_commands.json
  changed_sources | xargs -r -d '\n' -P "$(nproc)" -n 1 clang-tidy-14 --quiet -p build-default
}

check_test() { cmake --workflow --preset default; }

(($# > 0)) || set -- format layering tidy test
for check in "$@"; do
  printf '== %s\n' "$check"
  "check_$check"
done
