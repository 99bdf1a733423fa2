#!/usr/bin/env bash
# What packing gains on CPU ranks of 1 thread: LoRA (inputs/llm/lora.yaml) on SmolLM2-135M-Instruct with the
# instructions of inputs/text, rows packed to 512 tokens against single sequences padded to the longest of their batch.
#
# usage: bench/packing.sh [--ranks 2] [--precision fp32] [--rows 2] [--steps 8] [--repeats 3] [-o FOLDER]
#   --rows   packed rows a rank and step; the padded run gets as many sequences as have about the same tokens
# Every repeat runs both, every second one the other way round. Prints the input tokens/s of both, and their ratio
# and what it would be if time went with computed tokens (those with padding): tokens computed per input token of
# the padded run, over those of the packed one. Run it on an otherwise idle machine.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

ranks=2 precision=fp32 rows=2 steps=8 repeats=3
folder=$root/results/bench_packing
read_options ranks precision rows steps repeats -- "$@"
warmup=2
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
mkdir -p "$folder"
model=$("$root/scripts/get_model.sh" smollm2 | tail -n 1)
prepare_instructions "$model" "$folder/data"

# tune NAME ROWS PACKING: leaves $folder/NAME.csv.
tune() {
  rm -rf "${folder:?}/$1"
  mpirun -n "$ranks" multicard run "$root/inputs/llm/lora.yaml" "model.path=$model" "model.dtype=$precision" \
    "data.train=$folder/data-*.h5" data.test=null "data.packing=$3" evaluate.at_start=false run.device=cpu \
    'evaluate.prompts=[]' "run.batch_per_rank=$2" "run.steps=$((warmup + steps))" run.keep_checkpoints=0 \
    run.checkpoint_every=0 run.resume=never "profile.skip_steps=$warmup" "run.output=$folder/$1" \
    >"$folder/$1.log" 2>&1 || die "$1 failed: $(head -n 1 "$folder/$1.log")"
  multicard-post "$folder/$1/results.h5" --csv >"$folder/$1.csv"
}

# column FILE NAME: of the only line of a table.
column() {
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) wanted = i; next } { print $wanted }' "$1"
}

# As many sequences as have the tokens of $rows packed rows.
count_sequences() {
  tune packed "$rows" true
  tune padded 16 false
  awk -v packed="$(column "$folder/packed.csv" tokens_a_step)" \
    -v padded="$(column "$folder/padded.csv" tokens_a_step)" 'BEGIN { printf "%d\n", 16 * packed / padded + 0.5 }'
}

# note REPEAT NAME: a line of runs.txt.
note() {
  local of=$folder/$2.csv
  echo "$1 $2 $(column "$of" rate_per_s) $(column "$of" tokens_a_step) $(column "$of" computed_tokens_a_step)" \
    >>"$folder/runs.txt"
}

tabulate() {
  awk '{ rate[$1, $2] = $3; tokens[$2] = $4; computed[$2] = $5; if ($1 > repeats) repeats = $1 }
       END {
         expected = computed["padded"] / tokens["padded"] / (computed["packed"] / tokens["packed"])
         printf "%6s %15s %15s %15s %9s\n", "repeat", "packed tokens/s", "padded tokens/s", "packed / padded",
           "expected"
         for (i = 1; i <= repeats; i++)
           printf "%6d %15.1f %15.1f %15.3f %9.3f\n", i, rate[i, "packed"], rate[i, "padded"],
             rate[i, "packed"] / rate[i, "padded"], expected
         printf "input tokens a step: %d packed, %d padded; computed: %d, %d\n", tokens["packed"], tokens["padded"],
           computed["packed"], computed["padded"]
       }' "$folder/runs.txt"
}

warn_unless_idle
sequences=$(count_sequences)
: >"$folder/runs.txt"
for repeat in $(seq "$repeats"); do
  order=(packed padded)
  if [ $((repeat % 2)) -eq 0 ]; then order=(padded packed); fi
  for name in "${order[@]}"; do
    if [ "$name" = packed ]; then tune packed "$rows" true; else tune padded "$sequences" false; fi
    note "$repeat" "$name"
  done
done
tabulate | tee "$folder/table.txt"
