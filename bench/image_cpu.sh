#!/usr/bin/env bash
# multicard against plain PyTorch on CPU: MobileNetV2 training on Fashion-MNIST, 2 ranks of 1 thread, 32 images a rank.
#
# usage: bench/image_cpu.sh [--sizes "100 224"] [--layouts "nhwc nchw"] [--steps 20] [--repeats 3] [--compile]
#                           [--precisions "fp32 bf16"] [-o FOLDER]
# Every repeat runs multicard, the plain peer and the peer with glibc's allocator tuned (freed memory is kept) one after
# the other, so that a change of the machine's speed meets all three; --compile adds the tuned peer under torch.compile.
# Prints one table of medians over the repeats; FOLDER (results/bench_image_cpu) keeps every single run as JSON. The
# peer's Python packages go to $MULTICARD_CACHE/peer. Run it on an otherwise idle machine.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

sizes="100 224" layouts="nhwc nchw" steps=20 repeats=3 precisions="fp32 bf16" compile=no
folder=$root/results/bench_image_cpu
read_options sizes layouts steps repeats precisions compile? -- "$@"
warmup=5
ranks=2
batch=32
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
# shellcheck source=bench/image_peer.sh
. "$root/bench/image_peer.sh"
have h5dump || die "h5dump is missing (hdf5-tools)"
mkdir -p "$folder"
find_image_data
records=$folder/runs.jsonl
: >"$records"

note_run() {  # PROGRAM SIZE LAYOUT START END JSON [KEY=VALUE]
  note "$records" "$6" ${7:+"$7"} "program=$1" "size=$2" "layout=$3" "precision=$precision" \
    "wall_s=$(awk -v from="$4" -v until="$5" 'BEGIN { print until - from }')"
}

run_multicard() {  # SIZE LAYOUT
  local size=$1 layout=$2 start end measured steps_total
  start=$EPOCHREALTIME
  train_for_bench multicard "$ranks"
  end=$EPOCHREALTIME
  measured=$(measured_by_multicard "$folder/multicard/results.h5" "$folder")
  steps_total=$(seconds_of_steps)
  note_run multicard "$1" "$2" "$start" "$end" "$measured" "steps_total_s=$steps_total"
}

# Those of all steps of a rank of the last run.
seconds_of_steps() {
  h5dump -d /runs/main/steps/step -y -m %.9g "$folder/multicard/results.h5" |
    awk -v ranks="$ranks" '/DATA \{/ { inside = 1; next } /\}/ { inside = 0 }
      inside { gsub(",", " "); for (i = 1; i <= NF; i++) sum += $i } END { print sum / ranks }'
}

run_peer() {  # PROGRAM SIZE LAYOUT ARGUMENTS...  with extra environment in `tuning`
  local program=$1 size=$2 layout=$3 start end
  shift 3
  start=$EPOCHREALTIME
  with_image_peer "${tuning[@]}" "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" \
    "$root/bench/peer_image.py" --data "$raw" --size "$size" --layout "$layout" --precision "$precision" \
    --batch "$batch" --steps "$steps" --warmup "$warmup" "$@" >"$folder/peer.json" 2>"$folder/peer.log" ||
    die "the peer failed: $(tail -n 3 "$folder/peer.log")"
  end=$EPOCHREALTIME
  note_run "$program" "$size" "$layout" "$start" "$end" "$(tail -n 1 "$folder/peer.json")"
}

# Blocks of every size stay in the heap and freed memory is not given back, or each step faults its pages in again.
malloc_tuned=(MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000)

print_table() {
  "$python" - "$records" "$repeats" <<'PYTHON'
import json
import statistics
import sys

groups = {}
with open(sys.argv[1]) as file:
    for run in map(json.loads, file):
        groups.setdefault((run["size"], run["precision"], run["layout"]), {}).setdefault(run["program"], []).append(run)


def median(runs, key):
    return statistics.median(run[key] for run in runs)


print(f"medians of {sys.argv[2]} repeats; vs = images/s over that of plain PyTorch and of the malloc-tuned one")
print(f"{'size':>5} {'type':4} {'layout':6} {'program':14} {'images/s':>9} {'range':>13} {'vs plain':>9} "
      f"{'vs tuned':>9} "
      f"{'data wait':>9} {'peak MB':>8} {'outside steps':>13}")
for (size, precision, layout), programs in groups.items():
    for program, runs in programs.items():
        rates = [run["images_per_s"] for run in runs]
        peers = [median(programs[peer], "images_per_s") for peer in ("plain", "malloc-tuned")]
        ratios = [statistics.median(rates) / peer for peer in peers]
        outside = statistics.median(run["wall_s"] - run["steps_total_s"] for run in runs)
        print(f"{size:5} {precision:4} {layout:6} {program:14} {statistics.median(rates):9.1f} "
              f"{min(rates):6.1f}-{max(rates):6.1f} "
              f"{ratios[0]:9.2f} {ratios[1]:9.2f} {median(runs, 'data_wait_share'):9.1%} "
              f"{median(runs, 'peak_rank_bytes') / 1e6:8.0f} {outside:11.1f} s")
PYTHON
}

install_image_peer || exit 3
make_shards "$folder/data/train"
warn_unless_idle
# Every program once, one after the other.
run_all() {  # SIZE LAYOUT
  run_multicard "$1" "$2"
  tuning=()
  run_peer plain "$1" "$2"
  tuning=("${malloc_tuned[@]}")
  run_peer malloc-tuned "$1" "$2"
  if [ "$compile" = yes ]; then run_peer compile+malloc "$1" "$2" --compile; fi
}

for precision in $precisions; do
  for size in $sizes; do
    for layout in $layouts; do
      for repeat in $(seq "$repeats"); do
        say "size $size, $precision, $layout, repeat $repeat of $repeats  (${SECONDS} s since start)"
        run_all "$size" "$layout"
      done
    done
  done
done
print_table | tee "$folder/table.txt"
