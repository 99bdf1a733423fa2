#!/usr/bin/env bash
# Sets up, builds and runs every test that this machine can run; the last line is `N passed, N failed`.
#
# usage: scripts/test.sh [--full] [CTEST ARGUMENT ...]      e.g. scripts/test.sh -R comm/
#   --full   also the long forms of tests, which are skipped otherwise: the language demo on several seeds (it fetches
#            SmolLM2, 93 MB), the small variants of the image study and of that of dataset types, the image demo; every
#            page of the gallery in both widths and themes; and unit tests and the fake GPU with the oldest LibTorch
#            that is supported
# Without further arguments the unit tests of a module run in one launch for each number of ranks (unit/MODULE:npN),
# with arguments by file (MODULE/NAME:npN); and tests under the address and thread sanitizers are added
# (scripts/sanitize.sh asan|tsan --quick).
# Tests that need a GPU run where there is one; tests that need root or Slurm say so when they are skipped.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:-} in
  -h | --help) usage "$0"; exit 0 ;;
  --full) export MULTICARD_TEST_FULL=1; shift ;;
esac

# Whatever ends the script early is one failure.
trap 'echo "0 passed, 1 failed"' EXIT

report=$root/build/release/Testing/report.xml
reports=("=$report")

steps=4 full=no
if [ "${MULTICARD_TEST_FULL:-}" = 1 ] && [ $# -eq 0 ]; then steps=5 full=yes; fi
step 1 $steps "Setting up"
"$root/scripts/setup.sh" --test
"$root/scripts/setup_peers.sh" --methods --images --traces --packaging --gallery ||
  say "      comparisons with other libraries will be skipped"
"$root/scripts/setup_docs.sh" --examples ||
  say "      tests of the site and of scripts that use other tools will be skipped"
step 2 $steps "Building"
"$root/scripts/build.sh" release --target all tests benches
without=()
if [ $# -eq 0 ]; then without=(by-file); fi
if ! compgen -G "/dev/nvidia[0-9]*" >/dev/null; then
  say "      no GPU here: tests with the label gpu are left out"
  without+=(gpu)
fi
choice=()
if [ ${#without[@]} -gt 0 ]; then choice=(-LE "^($(IFS='|'; echo "${without[*]}"))\$"); fi
if [ $# -eq 0 ]; then choice+=(-C Programs); fi
step 3 $steps "Testing"
mkdir -p "$(dirname "$report")"
rm -f "$report"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
ctest --test-dir "$root/build/release" --output-on-failure --output-junit "$report" --no-tests=error \
  -j "$(processors)" "${choice[@]}" "$@" >&2 || true
say "      tests ended after ${SECONDS} s"
if [ $# -eq 0 ]; then
  step 4 $steps "Testing under sanitizers modules that link no LibTorch"
  for sanitizer in asan tsan; do
    reports+=("$sanitizer=$root/build/$sanitizer/Testing/report.xml")
    "$root/scripts/sanitize.sh" "$sanitizer" --quick >/dev/null || true
  done
fi
if [ $full = yes ]; then
  oldest=$(libtorch_versions | head -1)
  step 5 $steps "Testing with LibTorch $oldest"
  reports+=("LibTorch $oldest=$root/build/oldest/Testing/report.xml")
  rm -f "${reports[-1]#*=}"
  if env -u TORCH_ROOT MULTICARD_LIBTORCH="$oldest" "$root/scripts/setup.sh" &&
    env -u TORCH_ROOT "$root/scripts/build.sh" oldest --target all tests; then
    ctest --test-dir "$root/build/oldest" --output-on-failure --output-junit "${reports[-1]#*=}" --no-tests=error \
      -j "$(processors)" -L '^(unit|unit-programs|fake-gpu)$' "${choice[@]}" >&2 || true
  fi
fi
trap - EXIT
python3 "$root/scripts/summary.py" "${reports[@]}"
