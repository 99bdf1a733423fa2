#!/usr/bin/env bash
# Configures and builds multicard and multicard-post into build/PRESET, and says how long it took.
#
# usage: scripts/build.sh [PRESET] [--target NAME ...] [-DNAME=VALUE ...]
#   PRESET   release (default), cuda, oldest, debug, audit, asan, tsan or fuzz; see CMakePresets.json
#   --target builds these instead of the two programs, e.g. --target tests or --target all tests benches
#   -D...    CMake options, see INSTALL.md
# It is built with the LibTorch that scripts/setup.sh --libtorch VERSION chose for this source tree, else the default.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

preset=release
options=() targets=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage "$0"; exit 0 ;;
    -D*) options+=("$1") ;;
    --target) targets=(--target) ;;
    -*) say "$program: unknown option $1 (see --help)"; exit 2 ;;
    *) if [ ${#targets[@]} -gt 0 ]; then targets+=("$1"); else preset=$1; fi ;;
  esac
  shift
done

cd "$root"
if [ -n "${MULTICARD_LIBTORCH:-}" ]; then
  MULTICARD_LIBTORCH=$(libtorch_version '')  # all of 2.14
  export MULTICARD_LIBTORCH
fi
jobs=$(build_jobs)
step 1 2 "Configuring build/$preset"
cmake --preset "$preset" "${options[@]}" >&2
step 2 2 "Building with $jobs jobs"
cmake --build --preset "$preset" -j "$jobs" "${targets[@]}" >&2
say "      done after ${SECONDS} s: build/$preset/bin"
