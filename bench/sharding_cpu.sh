#!/usr/bin/env bash
# What it costs to split weights, or the optimizer's state, over 2 CPU ranks of 1 thread: tuning SmolLM2-135M on packed
# rows of text.
#
# usage: bench/sharding_cpu.sh [--length 512] [--steps 8] [--repeats 5] [--precision bf16] [-o FOLDER]
# Every repeat runs LoRA with parallel.shard none and full, and full tuning with none, optimizer and full, every second
# one the other way round. Prints of each the median tokens/s, the ratio to none of the same repeat as median and range,
# and the memory that tensors of a rank took at their peak. Run it on an otherwise idle machine.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

length=512 steps=8 repeats=5 precision=bf16
folder=$root/results/bench_sharding_cpu
read_options length steps repeats precision -- "$@"
warmup=2
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
mkdir -p "$folder"
model=$("$root/scripts/get_model.sh" smollm2 | tail -n 1)
prepare_instructions "$model" "$folder/rows"

# measure METHOD SHARD, as a line "REPEAT METHOD-SHARD RATE MEMORY".
measure() {
  local name=$1-$2 method="{name: $1}"
  if [ "$1" = lora ]; then method="{name: lora, rank: 16, alpha: 32, targets: all-linear}"; fi
  rm -rf "${folder:?}/$name"
  mpirun -n 2 multicard run "$root/inputs/llm/lora.yaml" "model.path=$model" model.dtype=bf16 "method=$method" \
    "data.train=$folder/rows-*.h5" data.test=null data.packing=true "data.max_length=$length" \
    "evaluate={at_start: false, every_epochs: 0}" "precision=$precision" run.device=cpu run.global_batch=2 \
    run.micro_batch=1 run.epochs=null "run.steps=$((warmup + steps))" run.keep_checkpoints=0 run.checkpoint_every=0 \
    run.resume=never "profile.skip_steps=$warmup" "parallel.shard=$2" "run.output=$folder/$name" \
    >"$folder/$name.log" 2>&1 || die "$name failed: $(head -n 1 "$folder/$name.log")"
  echo "$repeat $name $(value_of_run "$folder/$name/results.h5" rate_per_s) $(peak_of "$name")" >>"$folder/rates.txt"
}

# Bytes of the tensors of rank 0.
peak_of() {
  h5dump -d /runs/main/memory/host_tensor_peak_bytes -y -w 0 "$folder/$1/results.h5" |
    awk -F'[{,}]' '/^ *[0-9]/ { gsub(/ /, "", $1); print $1; exit }'
}

# "NAME BASE" of each pair: a line of the table.
tabulate() {
  local pair
  printf '%-16s %9s %8s %15s %12s\n' what tokens/s ratio range 'peak, MB'
  for pair in "lora-none lora-none" "lora-full lora-none" "full-none full-none" "full-optimizer full-none" \
    "full-full full-none"; do
    # shellcheck disable=SC2086  # two words
    set -- $pair
    awk -v name="$1" -v base="$2" '$2 == base { of_base[$1] = $3 } $2 == name { rate[$1] = $3; peak = $4 }
      END { for (i in rate) print rate[i], rate[i] / of_base[i], peak }' "$folder/rates.txt" | sort -k2n |
      awk -v name="$1" '{ rate[NR] = $1; ratio[NR] = $2; peak = $3 }
        END { m = int((NR + 1) / 2)
              printf "%-16s %9.1f %8.3f %7.3f-%7.3f %12.0f\n", name, rate[m], ratio[m], ratio[1], ratio[NR],
                peak / 1e6 }'
  done
}

warn_unless_idle
: >"$folder/rates.txt"
forth=("lora none" "lora full" "full none" "full optimizer" "full full")
back=("full full" "full optimizer" "full none" "lora full" "lora none")
for repeat in $(seq "$repeats"); do
  say "repeat $repeat of $repeats  (${SECONDS} s since start)"
  if [ $((repeat % 2)) = 1 ]; then order=("${forth[@]}"); else order=("${back[@]}"); fi
  for pair in "${order[@]}"; do
    # shellcheck disable=SC2086  # two words
    measure $pair
  done
done
echo "rows of $length tokens, $precision; medians of $repeats repeats of $steps steps"
tabulate | tee "$folder/table.txt"
