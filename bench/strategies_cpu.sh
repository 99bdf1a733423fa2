#!/usr/bin/env bash
# What sharing the work costs: MobileNetV2 by dp, ddp and ddp-ds on 2 ranks of 1 thread, against two programs of a rank
# that run at the same time on the same two cores and share nothing.
#
# usage: bench/strategies_cpu.sh [--size 100] [--layout nhwc] [--precision fp32] [--batch 32] [--steps 20] [--repeats 5]
#                                [-o FOLDER]
# Every repeat runs all four one after the other, every second one the other way round. Prints the median images/s over
# both ranks, and the efficiency: the ratio to the two programs of the same repeat, as median and range of the repeats,
# so that a change of the machine's speed meets both. Run it on an otherwise idle machine.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

size=100 layout=nhwc precision=fp32 batch=32 steps=20 repeats=5
folder=$root/results/bench_strategies_cpu
read_options size layout precision batch steps repeats -- "$@"
warmup=5
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
mkdir -p "$folder"
if ! compgen -G "$folder/data/train-*.h5" >/dev/null; then
  multicard prepare images --format synthetic --size 28 --classes 10 --limit 4000 -o "$folder/data/train"
fi

rate() {  # NAME...: the sum of the rates
  local name
  for name in "$@"; do
    multicard-post "$folder/$name/results.h5" --csv
  done | awk -F, '$1 == "file" || /rate_per_s/ { for (i = 1; i <= NF; i++) if ($i == "rate_per_s") column = i; next }
                  { sum += $column } END { printf "%.2f\n", sum }'
}

# measure NAME: one of the four, as a line "REPEAT NAME RATE".
measure() {
  local first
  if [ "$1" = independent ]; then
    train_for_bench one 1 run.seed=1 &
    first=$!
    train_for_bench other 1 run.seed=2
    wait "$first"
    echo "$repeat independent $(rate one other)" >>"$folder/rates.txt"
  else
    train_for_bench "$1" 2 "parallel.strategy=$1"
    echo "$repeat $1 $(rate "$1")" >>"$folder/rates.txt"
  fi
}

# The columns of a table from the lines of rates.txt.
tabulate() {
  awk 'function middle(v, n,  i, j, x) {  # sorts v
         for (i = 2; i <= n; i++) {
           x = v[i]
           for (j = i - 1; j >= 1 && v[j] > x; j--) v[j + 1] = v[j]
           v[j + 1] = x
         }
         return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
       }
       { rate[$1, $2] = $3; if ($1 > repeats) repeats = $1 }
       END {
         printf "%-12s %9s %15s %11s %13s\n", "strategy", "images/s", "range", "efficiency", "range"
         num = split("independent ddp-ds ddp dp", names)
         for (k = 1; k <= num; k++) {
           for (i = 1; i <= repeats; i++) {
             rates[i] = rate[i, names[k]]
             ratios[i] = rates[i] / rate[i, "independent"]
           }
           median_rate = middle(rates, repeats)
           median_ratio = middle(ratios, repeats)
           printf "%-12s %9.1f %7.1f-%7.1f %11.3f %7.3f-%5.3f\n", names[k], median_rate, rates[1], rates[repeats],
             median_ratio, ratios[1], ratios[repeats]
         }
       }' "$folder/rates.txt"
}

warn_unless_idle
: >"$folder/rates.txt"
forth=(independent ddp-ds ddp dp) back=(dp ddp ddp-ds independent)
for repeat in $(seq "$repeats"); do
  say "repeat $repeat of $repeats  (${SECONDS} s since start)"
  if [ $((repeat % 2)) = 1 ]; then order=("${forth[@]}"); else order=("${back[@]}"); fi
  for name in "${order[@]}"; do
    measure "$name"
  done
done
echo "$size px, $precision, $layout, $batch images a rank; medians of $repeats repeats"
tabulate | tee "$folder/table.txt"
