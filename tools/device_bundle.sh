#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs what tools/device_check.sh needs on a machine without a network into device-bundle/ (under 60 MB):
# the program with few shared libraries, its specs and scenarios; and, should it not start there, the headers
# to build the kernels alone.
#   tools/device_bundle.sh [ARCHITECTURES [OPTION...]]
# ARCHITECTURES for example 90; default: all that releases are built for. Options are CMake's.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
build=build-bundle
options=(-S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DPACELINE_TESTS=OFF -DPACELINE_BENCH=OFF
  -DPACELINE_STATIC=ON -DPACELINE_SIMGRID=OFF -DPACELINE_GOOGLE_BENCHMARK=OFF -DPACELINE_CUDA=ON)
[[ -z ${1:-} ]] || options+=("-DCMAKE_CUDA_ARCHITECTURES=$1")
options+=("${@:2}")
! command -v ninja >/dev/null || options+=(-G Ninja)
cmake "${options[@]}"
cmake --build "$build" --parallel "$(nproc)" --target paceline_cli
[[ ! -d device-bundle ]] || rm -r device-bundle
cmake --install "$build" --prefix device-bundle --strip
mkdir device-bundle/include
for header in nlohmann/json.hpp eigen3/Eigen/Core; do
  for folder in /usr/local/include /usr/include; do
    [[ ! -e $folder/$header ]] || { cp -r "$folder/${header%%/*}" device-bundle/include/ && break; }
  done
  [[ -e device-bundle/include/$header ]] || { echo "no $header to pack" >&2; exit 1; }
done
rm -rf device-bundle/include/eigen3/unsupported
size=$(du -sm device-bundle | cut -f1)
echo "device-bundle: $size MB"
ldd device-bundle/bin/paceline
((size < 60)) || { echo "device-bundle is over 60 MB" >&2; exit 1; }
