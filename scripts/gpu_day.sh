#!/usr/bin/env bash
# All that this project wants to know of a real GPU, in one command: what the machine is, whether the tests with the
# label gpu pass, and how fast images and language models train. From a source tree, where it first builds the programs
# and tests and fetches Fashion-MNIST, or from a bundle.
#
# usage: scripts/gpu_day.sh [--parts "machine tests selftest image llm"] [--image-options "..."] [--llm-options "..."]
#                           [--tests-limit 900] [--image-limit 1800] [--llm-limit 1800] [--again] [--dry] [-o FOLDER]
#   --parts            which of them, in this order (all)
#   --image-options    of bench/gpu_image.sh, e.g. "--sizes 224 --peers eager"; --llm-options of bench/gpu_llm.sh
#   --tests-limit ...  seconds after which a part is ended
#   --again            also the parts that an earlier run has finished; without it only the others are run
#   --dry              the same on the CPU with tiny sizes, to try this script; its numbers mean nothing
# FOLDER (results/gpu_day) keeps a log of each part, versions and figures, and summary.txt: one line a part, `passed`,
# `failed (status)`, `over its limit` or `skipped (why)`. A part that fails does not keep the next from running. Ends
# with 1 when one failed, with 77 without a GPU.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

parts="machine tests selftest image llm" image_options='' llm_options='' again=no dry=no
tests_limit=900 image_limit=1800 llm_limit=1800
folder=$root/results/gpu_day
read_options parts image_options llm_options tests_limit image_limit llm_limit again? dry? -- "$@"
if [ "$dry" = no ] && [ "$(num_gpus)" = 0 ]; then
  say "$program: no GPU here (nvidia-smi -L lists none, or CUDA_VISIBLE_DEVICES hides them); --dry tries this script"
  exit 77
fi
if [ "$dry" = yes ]; then
  image_options="--device cpu --sizes 32 --batch 4 --steps 2 --repeats 1 --precision fp32 --peers eager $image_options"
  llm_options="--device cpu --check $llm_options"
fi
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
if [ "$dry" = no ] && [ ! -e "$root/.multicard-bundle" ]; then
  "$root/scripts/setup.sh" --demo
  "$root/scripts/build.sh" release --target all tests
fi
have multicard || die "multicard is not there: scripts/build.sh, or start this from a bundle"
ranks=$(num_gpus)
if [ "$ranks" = 0 ]; then ranks=2; fi
mkdir -p "$folder"

# ---- the parts: each writes what it finds into $folder and its words into its log ------------------------------------
part_machine() {
  local command
  multicard info --json >"$folder/info.json"
  multicard info
  for command in "nvidia-smi" "nvidia-smi topo -m" "nvidia-smi -q" lscpu "uname -a" "ldd $(command -v multicard)"; do
    printf '\n== %s\n' "$command"
    $command 2>&1 || true  # what is not there is no failure
  done
}

part_tests() {
  local tests=$root/build/release
  if [ -e "$root/.multicard-bundle" ]; then tests=$root/tests; fi
  have ctest || { echo "no ctest here"; return 77; }
  ctest --test-dir "$tests" -L '^gpu$' --no-tests=error --output-on-failure --output-junit "$folder/tests.xml"
}

# NCCL says which way ranks reach each other: NVLink or PCIe (P2P), host memory (SHM), network (NET).
part_selftest() {
  local log=$folder/nccl.log status=0
  NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,P2P,NET NCCL_DEBUG_FILE=$log.%p \
    mpirun -n "$ranks" -x NCCL_DEBUG -x NCCL_DEBUG_SUBSYS -x NCCL_DEBUG_FILE multicard info --selftest || status=$?
  cat "$log".* >"$log" 2>/dev/null || true
  rm -f "$log".*
  echo "transports:"
  grep -oE ' via [A-Z0-9/]+' "$log" | sort | uniq -c || echo "  none: one rank, or no NCCL"
  return "$status"
}

part_image() {
  # shellcheck disable=SC2086  # words
  "$root/bench/gpu_image.sh" -o "$folder/image" $image_options
}

part_llm() {
  # shellcheck disable=SC2086  # words
  "$root/bench/gpu_llm.sh" -o "$folder/llm" $llm_options
}

# ---- running them ----------------------------------------------------------------------------------------------------
limit_of() {
  case $1 in
    tests) echo "$tests_limit" ;;
    image) echo "$image_limit" ;;
    llm) echo "$llm_limit" ;;
    *) echo 300 ;;
  esac
}

# run_part NAME: runs it in a process group of its own, so that its limit ends all it has started. Writes NAME.result.
run_part() {
  local name=$1 status=0 result start=$SECONDS
  rm -f "$folder/$name.result"
  export -f "part_$name" have
  export root folder ranks image_options llm_options
  # In the background, because bash answers a signal only between commands, and wait is one that a signal interrupts.
  timeout --kill-after=30 "$(limit_of "$name")" bash -eo pipefail -c "part_$name" >"$folder/$name.log" 2>&1 &
  child=$!
  wait "$child" || status=$?
  case $status in
    0) result=passed ;;
    77) result="skipped ($(tail -n 1 "$folder/$name.log"))" ;;
    124 | 137) result="over its limit of $(limit_of "$name") s" ;;
    *) result="failed ($status): $(tail -n 1 "$folder/$name.log")" ;;
  esac
  printf '%-9s %5d s  %s\n' "$name" $((SECONDS - start)) "$result" >"$folder/$name.result"
}

child=
trap 'say "interrupted"; if [ -n "$child" ]; then kill "$child" 2>/dev/null || true; fi; exit 130' INT TERM
for name in $parts; do
  declare -F "part_$name" >/dev/null || { say "$program: no part is called $name (see --help)"; exit 2; }
  if [ "$again" = no ] && grep -q ' s  passed$' "$folder/$name.result" 2>/dev/null; then
    say "$(cat "$folder/$name.result"), by an earlier run"
    continue
  fi
  say "$name: at most $(limit_of "$name") s, log in $folder/$name.log  (${SECONDS} s since start)"
  run_part "$name"
  say "$(cat "$folder/$name.result")"
done
{
  echo "$(multicard --version), $(date -u +%FT%TZ), $(hostname)$([ "$dry" = no ] || echo ', a dry run on the CPU')"
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | sort | uniq -c || true
  for name in machine tests selftest image llm; do cat "$folder/$name.result" 2>/dev/null || true; done
  for name in image llm; do
    if [ -e "$folder/$name/table.txt" ]; then printf '\n%s\n' "$name"; cat "$folder/$name/table.txt"; fi
  done
} | tee "$folder/summary.txt"
for name in $parts; do
  if grep -qE ' s  (failed|over)' "$folder/$name.result"; then exit 1; fi
done
