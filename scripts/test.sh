#!/usr/bin/env bash
# Sets up, builds and runs every test that this machine can run; the last line is `N passed, N failed`.
#
# usage: scripts/test.sh [CTEST ARGUMENT ...]      e.g. scripts/test.sh -R comm/
# Tests that need a GPU run where there is one; tests that need root or Slurm say so when they are skipped.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:-} in -h | --help) usage "$0"; exit 0 ;; esac

# Whatever ends the script early is one failure.
trap 'echo "0 passed, 1 failed"' EXIT

report=$root/build/release/Testing/report.xml

# Prints skipped and failed tests and then the totals of ctest's JUnit report; fails if a test failed or none ran.
summarise() {
  python3 - "$report" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree

cases = tree.parse(sys.argv[1]).getroot().findall("testcase")
skipped, failed = [], []
for case in cases:
    reason = case.find("skipped")
    if reason is not None and reason.get("message", "").startswith("SKIP_"):  # the test itself asked for it
        text = (case.findtext("system-out") or "").strip().splitlines()
        print(f"skipped: {case.get('name')}: {text[-1] if text else 'no reason given'}")
        skipped.append(case)
    elif case.get("status") != "run":  # failed, timed out, or its program is missing
        print(f"FAILED: {case.get('name')}")
        failed.append(case)
passed = len(cases) - len(skipped) - len(failed)
print(f"{passed} passed, {len(failed)} failed")
sys.exit(1 if failed or not passed else 0)
PYTHON
}

step 1 3 "Setting up"
"$root/scripts/setup.sh" --test
"$root/scripts/setup_peers.sh" || say "      comparisons with transformers and PEFT will be skipped"
step 2 3 "Building"
"$root/scripts/build.sh" release --target all tests
without=()
if ! compgen -G "/dev/nvidia[0-9]*" >/dev/null; then
  say "      no GPU here: tests with the label gpu are left out"
  without=(-LE '^gpu$')
fi
step 3 3 "Testing"
mkdir -p "$(dirname "$report")"
rm -f "$report"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
ctest --test-dir "$root/build/release" --output-on-failure --output-junit "$report" --no-tests=error \
  -j "$(processors)" "${without[@]}" "$@" >&2 || true
say "      tests ended after ${SECONDS} s"
trap - EXIT
[ -s "$report" ] || { echo "0 passed, 1 failed"; exit 1; }
summarise
