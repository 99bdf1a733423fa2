#!/usr/bin/env bash
# Gives the readers of decks, shards, tokenizers, templates and the like inputs that libFuzzer generates, under the
# address and undefined-behaviour sanitizers: every input has to be read, or refused with a message and the documented
# exit code, within 10 s and 1 GB. Prints a table; ends with 1 if anything was found, 3 without clang's libFuzzer.
# docs/reliability.md has the figures.
#
# usage: scripts/fuzz.sh [MINUTES] [--only TARGET] [--jobs N] [--seed N]
#   MINUTES        altogether, 10 unless given; the targets share them
#   --only TARGET  one of tests/fuzz/corpus/
#   --jobs N       targets that run at once (one a core)
#   --seed N       of the random choices; their order depends on the machine, too
#
# Each target starts from tests/fuzz/corpus/TARGET and from what earlier runs found worth keeping, in
# build/fuzz/corpus/TARGET. A finding ends its target; its input lies in build/fuzz/findings.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minutes=10 only='' jobs=$(processors) seed=0
case ${1:-} in
  *[!0-9]* | '') ;;
  *) minutes=$1; shift ;;
esac
read_options only jobs seed -- "$@"
[ -z "$only" ] || [ -d "$root/tests/fuzz/corpus/$only" ] || { say "$program: no target $only in tests/fuzz"; exit 2; }

build=$root/build/fuzz
can_fuzz() {
  local file
  file=$(mktemp)
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, decltype(sizeof 0)) { return 0; }' |
    clang++ -fsanitize=fuzzer,address,undefined -x c++ - -o "$file" 2>/dev/null
  local result=$?
  rm -f "$file"
  return $result
}
can_fuzz || die "clang++ with libFuzzer is needed. Debian 12: apt-get install clang libclang-rt-14-dev"

"$root/scripts/build.sh" fuzz --target fuzzers

# run_target TARGET SECONDS: leaves the log in build/fuzz/logs/TARGET.
run_target() {
  local target=$1 work=$build/corpus/$1 known=$root/tests/fuzz/corpus/$1
  mkdir -p "$work" "$build/findings" "$build/logs"
  ASAN_OPTIONS=max_allocation_size_mb=1024:malloc_context_size=5 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    "$build/fuzz/fuzz_$target" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -seed="$seed" \
    -print_final_stats=1 -artifact_prefix="$build/findings/$target-" "$work" "$known" \
    >"$build/logs/$target" 2>&1 || true
}
export -f run_target
export build root seed

if [ -n "$only" ]; then
  targets=("$only")
else
  mapfile -t targets < <(ls "$root/tests/fuzz/corpus")
fi
seconds=$((minutes * 60 * jobs / ${#targets[@]}))
if [ ${#targets[@]} -lt "$jobs" ]; then seconds=$((minutes * 60)); fi
if [ "$seconds" -lt 1 ]; then seconds=1; fi  # to libFuzzer 0 means no limit
say "fuzzing ${#targets[@]} targets for $seconds s each, $jobs at once"
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c "run_target {} $seconds"

total=0 found=0
printf '%-14s %12s %8s  %s\n' target executions per_s finding
for target in "${targets[@]}"; do
  log=$build/logs/$target
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  finding=$(sed -n 's/^.*Test unit written to //p' "$log" | tail -n 1)
  if [ -z "$executions" ]; then finding=${finding:-"ended early, see $log"}; fi
  printf '%-14s %12s %8s  %s\n' "$target" "${executions:--}" "${rate:--}" "${finding:-none}"
  total=$((total + ${executions:-0}))
  if [ -n "$finding" ]; then
    found=$((found + 1))
    say "  $target: $(grep -m1 -E 'FINDING|ERROR: |runtime error' "$log" || true)"
    say "  again with: build/fuzz/fuzz/fuzz_$target $finding"
  fi
done
printf '%-14s %12s\n' total "$total"
[ "$found" = 0 ]
