#!/usr/bin/env bash
# What PowerSGD costs in accuracy and saves in bytes: two small decks (images, and full tuning of TinyStories-656K) with
# gradients sent whole and as factors of rank 1, 2 and 4, on 2 ranks of the CPU.
#
# usage: bench/powersgd.sh [--seeds 3] [--steps 96] [--tasks "image llm"] [-o FOLDER]
# Prints for each task and rank the loss of the test set after the same number of samples, as the mean of the seeds and
# their range, and the bytes of the all-reduces of a rank for each sample.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

seeds=3 steps=96 tasks="image llm"
folder=$root/results/bench_powersgd
read_options seeds steps tasks -- "$@"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
mkdir -p "$folder/data"
if ! compgen -G "$folder/data/train*.h5" >/dev/null; then
  multicard prepare images --format synthetic --size 32 --classes 4 --limit 512 -o "$folder/data/train"
  multicard prepare images --format synthetic --size 32 --classes 4 --limit 128 -o "$folder/data/test"
  multicard prepare text --type alpaca --tokenizer "$root/tests/data/models/tinystories-656K" \
    --in "$root/inputs/text/instruction-data.json" --split 0.1 --max-length 256 -o "$folder/data/text"
fi
image=("$root/inputs/image/tiny.yaml" "data.train=$folder/data/train*.h5" "data.test=$folder/data/test*.h5"
  "schedule.total_steps=$steps")
llm=("$root/inputs/llm/tinystories.yaml" "method={name: full}" "data.train=$folder/data/text-train*.h5"
  "data.test=$folder/data/text-test*.h5" evaluate.at_start=false "model.path=$root/tests/data/models/tinystories-656K")

# train TASK RANK SEED: leaves the loss and the bytes of a sample in losses.txt.
train() {
  local name=$1-rank$2-seed$3 deck
  case $1 in
    image) deck=("${image[@]}") ;;
    llm) deck=("${llm[@]}") ;;
    *) die "no such task: $1" ;;
  esac
  mpirun -n 2 multicard run "${deck[@]}" run.device=cpu "run.steps=$steps" "run.seed=$3" "parallel.powersgd_rank=$2" \
    evaluate.every_epochs=0 "evaluate.every_steps=$steps" run.keep_checkpoints=0 run.resume=never \
    "run.output=$folder/$name" >"$folder/$name.log" 2>&1 || die "$name failed: $(head -n 1 "$folder/$name.log")"
  python3 - "$1" "$2" <(values "$name" metrics/eval_loss) <(values "$name" communication/all_reduce/payload_bytes) \
    <(values "$name" steps/samples) <<'END' >>"$folder/losses.txt"
import re, sys
def numbers(path):
    return [float(value) for value in re.search(r"DATA \{(.*?)\}", open(path).read(), re.S)[1].split(",")]
loss, sent, samples = map(numbers, sys.argv[3:])
print(*sys.argv[1:3], loss[-1], sent[0] / sum(samples))
END
}

values() { h5dump -d "/runs/main/$2" -m %.17g -y -w 0 "$folder/$1/results.h5"; }

: >"$folder/losses.txt"
for task in $tasks; do
  for rank in 0 1 2 4; do
    for seed in $(seq "$seeds"); do
      say "$task, rank $rank, seed $seed of $seeds  (${SECONDS} s since start)"
      train "$task" "$rank" "$seed"
    done
  done
done
awk 'BEGIN { printf "%-6s %5s %10s %17s %14s\n", "task", "rank", "test loss", "range", "bytes a sample" }
     function end() { if (n) printf "%-6s %5s %10.4f %8.4f-%8.4f %14.0f\n", task, rank, sum / n, least, most, bytes }
     $1 != task || $2 != rank { end(); n = sum = 0; task = $1; rank = $2 }
     { if (!n || $3 < least) least = $3; if (!n || $3 > most) most = $3; sum += $3; ++n; bytes = $4 }
     END { end() }' "$folder/losses.txt" | tee "$folder/table.txt"
