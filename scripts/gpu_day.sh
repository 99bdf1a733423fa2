#!/usr/bin/env bash
# All that this project wants to know of a real GPU, in parts of at most nine minutes: what the machine is, whether the
# tests with the label gpu pass, and how fast images and language models train. From a source tree, where it first
# builds the programs and tests, or from a bundle, which needs no network (scripts/bundle.sh).
#
# usage: scripts/gpu_day.sh [--parts "NAME ..." | --part NAME] [--image-options "..."] [--llm-options "..."]
#                           [--limit 540] [--again] [--device cpu] [-o FOLDER]
#        scripts/gpu_day.sh --list [-o FOLDER]
#   --list             what the parts are called, what they do, and what became of them in FOLDER
#   --parts, --part    those parts, in this order (all)
#   --image-options    of bench/gpu_image.sh for the parts image*, e.g. "--sizes 224 --repeats 3"; --llm-options of
#                      bench/gpu_llm.sh for the parts llm*, e.g. "--steps 5"
#   --limit            seconds after which a part is ended
#   --again            also parts that have passed; without it only the others are run
#   --device cpu       the same on the CPU with tiny sizes, to try this script; its numbers mean nothing
# FOLDER (results/gpu_day) keeps `state`, from which the next start continues, a log of each part, versions and figures,
# and summary.txt. A part that fails does not keep the next from running. Ends with 0 when all parts that were asked for
# have passed or were skipped, with 1 when one failed or took too long, with 77 without a GPU.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

all_parts="build machine tests selftest image image-eager image-graphs image-autotune llm llm-compiled"
about() {
  case $1 in
    build) echo "the programs and tests of a source tree; continues where it was ended" ;;
    machine) echo "versions, GPUs, topology, processors" ;;
    tests) echo "the tests with the label gpu" ;;
    selftest) echo "all-reduce and shard reads, and the transports that NCCL chooses" ;;
    image) echo "MobileNetV2 at 224 and 100 pixels" ;;
    image-eager) echo "the same compared with plain PyTorch" ;;
    image-graphs) echo "the same compared with torch.compile with CUDA graphs" ;;
    image-autotune) echo "the same compared with torch.compile, max-autotune, 224 pixels" ;;
    llm) echo "LoRA at the shape of Llama-3-8B, 12 steps" ;;
    llm-compiled) echo "the same compared with transformers and PEFT under torch.compile, 7 steps" ;;
    *) say "$program: no part is called $1 (see --list)"; exit 2 ;;
  esac
}

parts='' part='' image_options='' llm_options='' again=no list=no device=cuda limit=540
folder=$root/results/gpu_day
read_options parts part image_options llm_options limit again? list? device -- "$@"
case $device in cuda | cpu) ;; *) say "$program: --device is cuda or cpu, not $device"; exit 2 ;; esac
for name in ${parts:=${part:-$all_parts}}; do about "$name" >/dev/null; done

# ---- what became of the parts: a line each, `NAME DEVICE SECONDS RESULT` ---------------------------------------------
state=$folder/state
state_of() { awk -v name="$1" -v on="$device" '$1 == name && $2 == on' "$state" 2>/dev/null || true; }
result_of() { state_of "$1" | cut -d' ' -f4-; }

keep_result() {  # NAME SECONDS RESULT
  {
    awk -v name="$1" -v on="$device" '$1 != name || $2 != on' "$state" 2>/dev/null || true
    echo "$1 $device $2 $3"
  } >"$state.part"
  mv "$state.part" "$state"
}

print_states() {
  local name result
  for name in $all_parts; do
    result=$(result_of "$name")
    printf '%-14s %5s s  %s\n' "$name" "$(state_of "$name" | cut -d' ' -f3)" "${result:-not run yet}"
  done
}

if [ "$list" = yes ]; then
  for name in $all_parts; do
    result=$(result_of "$name")
    printf '%-14s %-72s %s\n' "$name" "$(about "$name")" "${result:-not run yet}"
  done
  exit
fi
if [ "$device" = cuda ] && [ "$(num_gpus)" = 0 ]; then
  say "$program: no GPU here (nvidia-smi -L lists none, or CUDA_VISIBLE_DEVICES hides them); --device cpu tries this"
  exit 77
fi
if [ "$device" = cpu ]; then
  image_options="--device cpu --sizes 32 --batch 4 --steps 2 --precision fp32 $image_options"
  llm_options="--device cpu --check $llm_options"
fi
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
ranks=$(rank_count '')
mkdir -p "$folder"

# ---- the parts: each writes what it finds into $folder and its words into its log ------------------------------------
part_build() {
  if [ -e "$root/.multicard-bundle" ]; then echo "a bundle is built already"; return 77; fi
  if [ "$device" = cpu ]; then echo "not for --device cpu"; return 77; fi
  "$root/scripts/setup.sh"
  "$root/scripts/build.sh" release --target all tests
}

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

# Those with a peer run multicard and the peer; where the peer cannot be had, they are skipped.
# shellcheck disable=SC2086  # words
{
  bench_image() { "$root/bench/gpu_image.sh" -o "$folder/$name" --repeats 1 "$@" $image_options; }
  bench_llm() { "$root/bench/gpu_llm.sh" -o "$folder/$name" "$@" $llm_options; }
}
part_image() { bench_image --repeats 3 --peers none; }
part_image_eager() { bench_image --peers eager; }
part_image_graphs() { bench_image --peers reduce-overhead; }
part_image_autotune() { bench_image --sizes 224 --peers max-autotune; }
part_llm() { bench_llm --peers none; }
part_llm_compiled() { bench_llm --steps 5 --peers default; }

# ---- running them ----------------------------------------------------------------------------------------------------
# run_part NAME: in a process group of its own, so that its limit ends all it has started.
run_part() {
  local status=0 result start=$SECONDS
  name=$1
  export -f "part_${name//-/_}" bench_image bench_llm have
  export root folder ranks image_options llm_options device name
  # In the background, because bash answers a signal only between commands, and wait is one that a signal interrupts.
  timeout --kill-after=30 "$limit" bash -eo pipefail -c "part_${name//-/_}" >"$folder/$name.log" 2>&1 &
  child=$!
  wait "$child" || status=$?
  case $status in
    0) result=passed ;;
    77) result="skipped ($(tail -n 1 "$folder/$name.log"))" ;;
    124 | 137) result="over its limit of $limit s" ;;
    *) result="failed ($status): $(tail -n 1 "$folder/$name.log")" ;;
  esac
  keep_result "$name" $((SECONDS - start)) "$result"
}

child=
trap 'say "interrupted"; if [ -n "$child" ]; then kill "$child" 2>/dev/null || true; fi; exit 130' INT TERM
for name in $parts; do
  if [ "$again" = no ] && [ "$(result_of "$name")" = passed ]; then
    say "$name: passed in an earlier run"
    continue
  fi
  say "$name: $(about "$name"); at most $limit s, log in $folder/$name.log  (${SECONDS} s since start)"
  run_part "$name"
  say "$name: $(result_of "$name")"
done
{
  echo "$(multicard --version 2>/dev/null || echo 'multicard is not built'), $(date -u +%FT%TZ), $(hostname)$(
    [ "$device" = cuda ] || echo ', tried on the CPU')"
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | sort | uniq -c || true
  print_states
  for name in $all_parts; do
    if [ -e "$folder/$name/table.txt" ]; then printf '\n%s\n' "$name"; cat "$folder/$name/table.txt"; fi
  done
} | tee "$folder/summary.txt"
for name in $parts; do
  case $(result_of "$name") in passed | skipped*) ;; *) exit 1 ;; esac
done
