#!/usr/bin/env bash
# What sharing the work costs: MobileNetV2 by dp, ddp and ddp-ds on 2 ranks of 1 thread, beside two programs of one rank
# that run at the same time on the same two cores and share nothing.
#
# usage: bench/strategies_cpu.sh [--size 100] [--layout nhwc] [--precision fp32] [--batch 32] [--steps 20] [--repeats 5]
#                                [-o FOLDER]
# Every repeat runs all four one after the other. Prints the median images/s over both ranks and its ratio to that of
# the two programs: the efficiency. Run it on an otherwise idle machine.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

size=100 layout=nhwc precision=fp32 batch=32 steps=20 repeats=5
folder=$root/results/bench_strategies_cpu
while [ $# -gt 0 ]; do
  case $1 in
    --size) size=$2; shift ;;
    --layout) layout=$2; shift ;;
    --precision) precision=$2; shift ;;
    --batch) batch=$2; shift ;;
    --steps) steps=$2; shift ;;
    --repeats) repeats=$2; shift ;;
    -o) folder=$(realpath -m "$2"); shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
warmup=5
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
mkdir -p "$folder"
if ! compgen -G "$folder/data/train-*.h5" >/dev/null; then
  multicard prepare images --format synthetic --size 28 --classes 10 --limit 4000 -o "$folder/data/train"
fi

train() {  # NAME RANKS OVERRIDES...
  local name=$1 ranks=$2
  shift 2
  mpirun -n "$ranks" multicard run "$root/inputs/image/fashion_mnist.yaml" "data.train=$folder/data/train*.h5" \
    data.test=null evaluate.every_epochs=0 "data.image_size=$size" "data.layout=$layout" "precision=$precision" \
    run.device=cpu "run.global_batch=$((ranks * batch))" "run.steps=$((warmup + steps))" run.keep_checkpoints=0 \
    run.resume=never "profile.skip_steps=$warmup" "run.output=$folder/$name" "$@" >"$folder/$name.log" 2>&1 ||
    die "$name failed: $(head -n 1 "$folder/$name.log")"
}

rate() {  # NAME...: the sum of the rates
  local name
  for name in "$@"; do
    multicard-post "$folder/$name/results.h5" --csv
  done | awk -F, '$1 == "file" || /rate_per_s/ { for (i = 1; i <= NF; i++) if ($i == "rate_per_s") column = i; next }
                  { sum += $column } END { printf "%.2f\n", sum }'
}

read -r load _ </proc/loadavg
if [ "${load%.*}" != 0 ]; then say "WARNING: the machine is not idle (load $load); the ratios will scatter"; fi
: >"$folder/rates.txt"
for repeat in $(seq "$repeats"); do
  say "repeat $repeat of $repeats  (${SECONDS} s since start)"
  train one 1 run.seed=1 &
  first=$!
  train other 1 run.seed=2
  wait "$first"
  echo "independent $(rate one other)" >>"$folder/rates.txt"
  for strategy in ddp-ds ddp dp; do
    train "$strategy" 2 "parallel.strategy=$strategy"
    echo "$strategy $(rate "$strategy")" >>"$folder/rates.txt"
  done
done
echo "$size px, $precision, $layout, $batch images a rank; medians of $repeats repeats"
for name in independent ddp-ds ddp dp; do
  awk -v name="$name" '$1 == name { print $2 }' "$folder/rates.txt" | sort -n |
    awk -v name="$name" '{ v[NR] = $1 } END { m = int((NR + 1) / 2); printf "%s %s %s %s\n", name, v[m], v[1], v[NR] }'
done | awk 'BEGIN { printf "%-12s %9s %15s %10s\n", "strategy", "images/s", "range", "efficiency" }
            $1 == "independent" { base = $2 }
            { printf "%-12s %9.1f %7.1f-%7.1f %10.3f\n", $1, $2, $3, $4, $2 / base }' | tee "$folder/table.txt"
