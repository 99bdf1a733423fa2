#!/usr/bin/env bash
# Builds and runs tests under a sanitizer of g++; the last line is `N passed, N failed`.
#
# usage: scripts/sanitize.sh asan|tsan [--quick] [CTEST ARGUMENT ...]      e.g. scripts/sanitize.sh asan -R '^io/'
#   asan      addresses and undefined behaviour: unit tests, commands and the fake GPU
#   tsan      threads: the tests of what has threads (the filter of the test preset)
#   --quick   only modules that link no LibTorch, which compile fast (asan: base, config, comm, io, results, scheduling;
#             tsan: base, comm)
#
# LibTorch, MPI and HDF5 are not instrumented. What the last two never free would be reported as leaks: those are not
# looked for.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
  -h | --help) usage "$0"; exit 0 ;;
  asan | tsan) preset=$1; shift ;;
  *) say "$program: asan or tsan? (see --help)"; exit 2 ;;
esac
targets=() choice=()
if [ "${1:-}" = --quick ]; then
  shift
  case $preset in
    asan)
      targets=(--target test_base test_config test_comm test_io test_parquet_missing test_slow_disk test_results
        test_scheduling)
      choice=(-R '^(base|config|comm|io|results|scheduling)/')
      ;;
    tsan)
      targets=(--target test_base test_comm)
      choice=(-R '^(base/(BoundedQueue|Log):|comm/)')
      ;;
  esac
fi

# Whatever ends the script early is one failure.
trap 'echo "0 passed, 1 failed"' EXIT

report=$root/build/$preset/Testing/report.xml
mkdir -p "$(dirname "$report")"
rm -f "$report"
"$root/scripts/build.sh" "$preset" "${targets[@]}"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
cd "$root"
ctest --preset "$preset" --output-junit "$report" --no-tests=error -j "$(processors)" "${choice[@]}" "$@" >&2 || true
say "      tests ended after ${SECONDS} s"
trap - EXIT
python3 "$root/scripts/summary.py" "=$report"
