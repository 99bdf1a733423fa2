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

sizes="100 224" layouts="nhwc nchw" steps=20 repeats=3 precisions="fp32 bf16" with_compile=no
folder=$root/results/bench_image_cpu
while [ $# -gt 0 ]; do
  case $1 in
    --sizes) sizes=$2; shift ;;
    --layouts) layouts=$2; shift ;;
    --steps) steps=$2; shift ;;
    --repeats) repeats=$2; shift ;;
    --precisions) precisions=$2; shift ;;
    --compile) with_compile=yes ;;
    -o) folder=$(realpath -m "$2"); shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
warmup=5
ranks=2
batch=32
raw=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
torch_folder=$(dirname "${TORCH_ROOT:-$cache/libtorch-2.11.0/torch}")
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
[ -r "$raw/train-images-idx3-ubyte.gz" ] || die "Fashion-MNIST is not in $raw (scripts/setup.sh --demo)"
mkdir -p "$folder"
records=$folder/runs.jsonl
: >"$records"

# ---- the peer's Python -----------------------------------------------------------------------------------------------
# The torch wheel fits one minor version of Python only: the one its tag names.
find_python() {
  local tag version candidate
  tag=$(sed -n 's/^Tag: cp3\([0-9]*\)-.*/\1/p' "$torch_folder"/torch-*.dist-info/WHEEL | head -1)
  for candidate in python3 "python3.$tag" "/usr/bin/python3"; do
    version=$("$candidate" -c 'import sys; print(sys.version_info[1])' 2>/dev/null) || continue
    if [ "$version" = "$tag" ]; then python=$candidate; return; fi
  done
  die "the torch wheel in $torch_folder is for Python 3.$tag, which is not here"
}

peer_environment() {
  env PYTHONPATH="$torch_folder:$cache/peer" PYTHONDONTWRITEBYTECODE=1 \
    LD_LIBRARY_PATH="${CUDA_HOME:-/usr/local/cuda}/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
}

install_peer() {
  find_python
  if peer_environment "$python" -c 'import torch, torchvision' 2>/dev/null; then return; fi
  say "Installing the peer's Python packages into $cache/peer"
  export PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 PIP_DISABLE_PIP_VERSION_CHECK=1
  rm -rf "$cache/peer"
  "$python" -m pip install --quiet --target "$cache/peer" typing_extensions sympy networkx jinja2 fsspec filelock \
    numpy 'setuptools<82' pillow >&2
  "$python" -m pip install --quiet --no-deps --target "$cache/peer" torchvision==0.26.0 >&2
  if ! peer_environment "$python" -c 'import torch, torchvision' 2>/dev/null; then
    "$root/scripts/setup.sh" --gpu  # importing torch loads libtorch_cuda and with it cuDNN, NCCL and the others
    peer_environment "$python" -c 'import torch, torchvision' || die "torch cannot be imported"
  fi
}

# ---- one run each ----------------------------------------------------------------------------------------------------
# note PROGRAM SIZE LAYOUT START END JSON: one line of records; the program's JSON says the rest.
note() {
  "$python" - "$@" "$precision" >>"$records" <<'PYTHON'
import json
import sys
program, size, layout, start, end, measured, precision = sys.argv[1:]
wall = float(end) - float(start)
measured = json.loads(measured)
print(json.dumps({**measured, "program": program, "size": int(size), "layout": layout, "precision": precision,
                  "wall_s": wall, "outside_steps_s": wall - measured["steps_total_s"]}))
PYTHON
}

# The same numbers as the peer's, from a results file.
measured_by_multicard() {
  multicard-post "$1" --csv >"$folder/run.csv"
  h5dump -d /runs/main/steps/step -y -m %.9g "$1" >"$folder/steps.txt"
  "$python" - "$folder/run.csv" "$folder/steps.txt" "$2" <<'PYTHON'
import csv
import json
import re
import sys
with open(sys.argv[1], newline="") as file:
    run = next(csv.DictReader(file))
with open(sys.argv[2]) as file:
    data = file.read().partition("DATA {")[2].partition("}")[0]
steps = [float(word) for word in re.findall(r"[\d.e+-]+", data)]
print(json.dumps({"images_per_s": float(run["rate_per_s"]), "data_wait_share": float(run["data_wait_share"]),
                  "steps_total_s": sum(steps) / int(sys.argv[3]), "peak_rank_bytes": int(run["host_peak_bytes"])}))
PYTHON
}

run_multicard() {  # SIZE LAYOUT
  local start end
  rm -rf "$folder/multicard"
  start=$EPOCHREALTIME
  mpirun -n "$ranks" multicard run "$root/inputs/image/fashion_mnist.yaml" "data.train=$folder/data/train*.h5" \
    data.test=null evaluate.every_epochs=0 "data.image_size=$1" "data.layout=$2" "precision=$precision" run.device=cpu \
    "run.global_batch=$((ranks * batch))" "run.steps=$((warmup + steps))" run.keep_checkpoints=0 run.resume=never \
    "profile.skip_steps=$warmup" "run.output=$folder/multicard" >"$folder/multicard.log" 2>&1 ||
    die "multicard failed: $(head -n 1 "$folder/multicard.log")"
  end=$EPOCHREALTIME
  note multicard "$1" "$2" "$start" "$end" \
    "$(measured_by_multicard "$folder/multicard/results.h5" "$ranks")"
}

run_peer() {  # PROGRAM SIZE LAYOUT ARGUMENTS...  with extra environment in `tuning`
  local program=$1 size=$2 layout=$3 start end
  shift 3
  start=$EPOCHREALTIME
  peer_environment "${tuning[@]}" "$python" -m torch.distributed.run --standalone --nproc-per-node "$ranks" \
    "$root/bench/peer_image.py" --data "$raw" --size "$size" --layout "$layout" --precision "$precision" \
    --batch "$batch" --steps "$steps" --warmup "$warmup" "$@" >"$folder/peer.json" 2>"$folder/peer.log" ||
    die "the peer failed: $(tail -n 3 "$folder/peer.log")"
  end=$EPOCHREALTIME
  note "$program" "$size" "$layout" "$start" "$end" "$(tail -n 1 "$folder/peer.json")"
}

# Blocks of every size stay in the heap and freed memory is not given back, or each step faults its pages in anew.
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
        print(f"{size:5} {precision:4} {layout:6} {program:14} {statistics.median(rates):9.1f} "
              f"{min(rates):6.1f}-{max(rates):6.1f} "
              f"{ratios[0]:9.2f} {ratios[1]:9.2f} {median(runs, 'data_wait_share'):9.1%} "
              f"{median(runs, 'peak_rank_bytes') / 1e6:8.0f} {median(runs, 'outside_steps_s'):11.1f} s")
PYTHON
}

install_peer
if ! compgen -G "$folder/data/train-*.h5" >/dev/null; then
  mkdir -p "$folder/data"
  multicard prepare images --format idx --images "$raw/train-images-idx3-ubyte.gz" \
    --labels "$raw/train-labels-idx1-ubyte.gz" --limit 20000 -o "$folder/data/train"
fi
read -r load _ </proc/loadavg
if [ "${load%.*}" != 0 ]; then say "WARNING: the machine is not idle (load $load); the ratios will scatter"; fi
# Every program once, one after the other.
run_all() {  # SIZE LAYOUT
  run_multicard "$1" "$2"
  tuning=()
  run_peer plain "$1" "$2"
  tuning=("${malloc_tuned[@]}")
  run_peer malloc-tuned "$1" "$2"
  if [ "$with_compile" = yes ]; then run_peer compile+malloc "$1" "$2" --compile; fi
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
