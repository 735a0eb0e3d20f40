#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The launcher's behaviour around the build: `launcher.sh SOURCE`. CMake, the package manager and the
# compiler are small stand-ins, so the test takes a second, installs nothing and needs no network.
set -euo pipefail

source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checkout="$work/check out"
stand_ins="$work/bin"
mkdir -p "$checkout/cli" "$checkout/models/specs" "$stand_ins" "$work/else where"
cp "$source/paceline" "$checkout/paceline"
touch "$checkout/CMakeLists.txt" "$checkout/cli/list.cpp" "$checkout/models/specs/a.yaml"
for tool in bash readlink find mkdir cat mv cp chmod touch tail nproc awk flock sleep rm ln make python3 pkg-config c++ mpicxx mpirun; do
  path=$(command -v "$tool") && ln -s "$path" "$stand_ins/$tool"
done

cat >"$stand_ins/fake-cmake" <<'FAKE'
#!/usr/bin/env bash
set -eu
if [[ $1 == -S ]]; then
  echo "configured $*" >>"$FAKE/calls"
  [[ -f $4/CMakeCache.txt && $(cat "$4/CMakeCache.txt") != "$2" && $* != *--fresh* ]] && exit 1
  printf '%s\n' "$2" >"$4/CMakeCache.txt"
else
  echo "built $*" >>"$FAKE/calls"
  [[ ! -e $FAKE/broken ]] || { echo "error: planted"; exit 1; }
  [[ ! -e $FAKE/slow ]] || sleep 1
  mkdir -p "$2/bin"
  printf '#!/usr/bin/env bash\necho "$PWD:$(printf " <%%s>" "$@")"\nexit "${FAKE_EXIT:-0}"\n' >"$2/bin/paceline"
  chmod +x "$2/bin/paceline"
fi
FAKE
cat >"$stand_ins/apt-get" <<'FAKE'
#!/usr/bin/env bash
set -eu
echo "apt-get $*" >>"$FAKE/calls"
case $* in
  *update*) touch "$FAKE/lists" ;;
  *install*) [[ -e $FAKE/lists ]] && cp "$FAKE/bin/fake-cmake" "$FAKE/bin/cmake" ;;
esac
FAKE
printf '#!/usr/bin/env bash\necho "${FAKE_UID:-0}"\n' >"$stand_ins/id"
chmod +x "$stand_ins"/{fake-cmake,apt-get,id}
export FAKE=$work PATH=$stand_ins
unset PACELINE_BUILD_DIR PACELINE_NO_INSTALL CXX

failures=0
# expect WHAT EXIT-CODE TEXT COMMAND…: TEXT is a pattern that the command's whole output must match.
expect() {
  local what=$1 code=$2 text=$3 got=0 output
  shift 3
  output=$("$@" 2>&1) || got=$?
  if [[ $got != "$code" || $output != $text ]]; then
    printf 'FAILED: %s\n  exit %s, expected %s; output:\n%s\n' "$what" "$got" "$code" "$output"
    failures=$((failures + 1))
  fi
}
calls() { : >>"$work/calls" && grep_count "$1" <"$work/calls"; }
grep_count() {
  local line count=0
  while read -r line; do [[ $line != $1 ]] || count=$((count + 1)); done
  echo "$count"
}
cd "$work/else where"
run="$checkout/paceline"

expect "help neither installs nor builds" 0 "*not built yet*paceline test*" "$run" --help
FAKE_UID=1000 expect "without root: the exact command, exit 3" 3 \
  "*"$'\n'"sudo apt-get install -y cmake" "$run" list
PACELINE_NO_INSTALL=1 expect "root may decline" 3 "*sudo apt-get install -y cmake" "$run" list
expect "nothing was installed or built so far" 0 0 calls "*"
expect "root: installs, builds, runs in the caller's folder" 0 \
  "*installing cmake*building*"$'\n'"$PWD: <run> <a.yaml> <--set> <x=1 2>" "$run" run a.yaml --set "x=1 2"
expect "the package lists were fetched once, after the first try failed" 0 1 calls "apt-get *update*"
expect "second call: only the program's output" 0 "$PWD: <list>" "$run" list
FAKE_EXIT=1 expect "the exit code is the program's" 1 "*" "$run" list
ln -s "$checkout/paceline" "$work/link"
expect "through a symbolic link" 0 "$PWD: <list>" "$work/link" list
expect "help shows the program's and the launcher's" 0 "$PWD: <--help>*paceline test*" "$run" --help
expect "one build for all of that" 0 1 calls "built *"

sleep 0.02 && touch "$checkout/models/specs/a.yaml"
expect "a changed spec needs no build" 0 "$PWD: <list>" "$run" list
touch "$checkout/cli/list.cpp"
expect "a changed source builds" 0 "*building*$PWD: <list>" "$run" list
rm "$checkout/cli/list.cpp"
expect "a removed source builds" 0 "*building*$PWD: <list>" "$run" list
touch "$work/broken" "$checkout/cli/new.cpp"
expect "a failed build says why, exit 3" 3 "*error: planted*the build failed*" "$run" list
expect "and is tried again" 3 "*the build failed*" "$run" list
rm "$work/broken"
expect "until it works" 0 "*building*$PWD: <list>" "$run" list

rm -f "$stand_ins"/mpi{cxx,run}
touch "$checkout/cli/new.cpp"
FAKE_UID=1000 expect "what is lost without Open MPI is said" 0 \
  "*without *openmpi-bin: no *runs of several ranks, all else works*$PWD: <list>" "$run" list
touch "$checkout/cli/new.cpp"
FAKE_UID=1000 expect "once" 0 "paceline: building*$PWD: <list>" "$run" list

touch "$work/slow" "$checkout/cli/new.cpp"
before=$(calls "built *")
"$run" one >"$work/one" 2>&1 & first=$!
"$run" two >"$work/two" 2>&1 & second=$!
wait "$first" "$second"
expect "two calls at once build once" 0 $((before + 1)) calls "built *"
expect "and both answer" 0 "*$PWD: <one>*$PWD: <two>*" cat "$work/one" "$work/two"
touch "$checkout/cli/new.cpp"
set -m
"$run" one >"$work/one" 2>&1 & first=$!
set +m
sleep 0.5
kill -TERM -- "-$first"
wait "$first" || true
rm "$work/slow"
expect "an interrupted build says so" 0 "*interrupted*" cat "$work/one"
expect "and the next call carries on" 0 "*building*$PWD: <list>" "$run" list

mv "$checkout" "$work/moved"
run="$work/moved/paceline"
expect "a moved checkout configures afresh" 0 "*building*$PWD: <list>" "$run" list
PACELINE_BUILD_DIR=$work/build expect "a build folder elsewhere" 0 "*building in $work/build*: <list>" "$run" list
PACELINE_BUILD_DIR=/proc/none expect "a folder that cannot be written" 3 "*PACELINE_BUILD_DIR*" "$run" list

echo "$failures failed"
exit $((failures > 0))
