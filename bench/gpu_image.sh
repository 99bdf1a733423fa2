#!/usr/bin/env bash
# multicard against PyTorch on one GPU: MobileNetV2 training in bfloat16, NHWC, with images that are resized on the GPU.
#
# usage: bench/gpu_image.sh [--sizes "224 100"] [--batch 256] [--steps 50] [--repeats 3] [--precision bf16]
#                           [--peers "eager reduce-overhead max-autotune"] [-o FOLDER]
# Every repeat runs multicard and each peer one after the other: plain PyTorch, and torch.compile in modes that capture
# CUDA graphs. The peers keep all images on the GPU; multicard reads shards and sends bytes (data.pipeline device).
# --peers none runs multicard alone. Images: find_image_data in bench/image_peer.sh. Prints medians over the repeats,
# FOLDER (results/bench_gpu_image) keeps every run as JSON. Ends with 77 without a GPU or without the peers.
#
# The share of the roof is of the bandwidth of the GPU's memory that a step of the fewest possible bytes would take:
#   bytes = 5 b A N + (24 + 3 b) P
# b bytes a value (2 in 16 bits), A values that the layers output for an image, N images: each is written and read once
# forward, read once backward, and its gradient written and read once. P parameters: float32 weight and momentum read
# and written, gradient written and read; the weight in b bytes written once, read forward and backward. What is kept in
# caches needs less, and every pass of a normalisation that is not fused more.
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

sizes="224 100" batch=256 steps=50 repeats=3 precision=bf16 peers="eager reduce-overhead max-autotune" device=cuda
folder=$root/results/bench_gpu_image
read_options sizes batch steps repeats precision peers device -- "$@"  # --device cpu: to try this script itself
if [ "$device" = cuda ] && ! nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then
  say "$program: no CUDA device"
  exit 77
fi
warmup=20  # graphs are captured and variants tried in them
pipeline=device
if [ "$device" = cpu ]; then warmup=2 pipeline=host; fi
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
# shellcheck source=bench/image_peer.sh
. "$root/bench/image_peer.sh"
mkdir -p "$folder"
find_image_data
records=$folder/runs.jsonl
: >"$records"

run_multicard() {  # SIZE
  local measured
  rm -rf "$folder/multicard"
  mpirun -n 1 multicard run "$root/inputs/image/fashion_mnist.yaml" "data.train=$folder/data/train*.h5" data.test=null \
    evaluate.every_epochs=0 "data.image_size=$1" data.layout=nhwc "data.pipeline=$pipeline" "precision=$precision" \
    "run.device=$device" "run.global_batch=$batch" "run.steps=$((warmup + steps))" run.keep_checkpoints=0 \
    run.resume=never "profile.skip_steps=$warmup" "run.output=$folder/multicard" >"$folder/multicard.log" 2>&1 ||
    die "multicard failed: $(head -n 1 "$folder/multicard.log")"
  measured=$(measured_by_multicard "$folder/multicard/results.h5" "$folder")
  note "$records" "$measured" program=multicard "size=$1"
}

run_peer() {  # SIZE MODE
  local mode=()
  if [ "$2" != eager ]; then mode=(--compile "$2"); fi
  with_image_peer "$python" "$root/bench/peer_image.py" --device "$device" --resident --data "$raw" --size "$1" \
    --layout nhwc --precision "$precision" --batch "$batch" --steps "$steps" --warmup "$warmup" "${mode[@]}" \
    >"$folder/peer.json" 2>"$folder/peer.log" || die "the peer failed: $(tail -n 3 "$folder/peer.log")"
  note "$records" "$(tail -n 1 "$folder/peer.json")" "program=$2"
}

print_table() {
  "$python" - "$records" "$repeats" "$batch" "$precision" "$(device_name)" <<'PYTHON'
import json
import statistics
import sys

# GB/s by the makers' data sheets.
BANDWIDTH = {
    "NVIDIA B200": 8000, "NVIDIA H200": 4800, "NVIDIA H100 80GB HBM3": 3350, "NVIDIA H100 NVL": 3900,
    "NVIDIA H100 PCIe": 2000, "NVIDIA A100-SXM4-80GB": 2039, "NVIDIA A100 80GB PCIe": 1935,
    "NVIDIA A100-SXM4-40GB": 1555, "NVIDIA A100-PCIE-40GB": 1555, "NVIDIA L40S": 864, "NVIDIA L4": 300,
    "Tesla V100-SXM2-16GB": 900, "Tesla V100-SXM2-32GB": 900, "Tesla T4": 320, "NVIDIA GeForce RTX 4090": 1008,
    "NVIDIA GeForce RTX 3090": 936,
}
BYTES = {"fp64": 8, "fp32": 4, "bf16": 2}

groups, device, outputs, parameters = {}, sys.argv[5], {}, 0
with open(sys.argv[1]) as file:
    for run in map(json.loads, file):
        groups.setdefault(run["size"], {}).setdefault(run["program"], []).append(run)
        if "device" in run:
            device, parameters = run["device"], run["parameters"]
            outputs[run["size"]] = run["outputs_of_an_image"]
batch, width = int(sys.argv[3]), BYTES[sys.argv[4]]
bandwidth = BANDWIDTH.get(device)


def median(runs, key):
    return statistics.median(run.get(key, 0) for run in runs)


print(f"{device}, memory {f'{bandwidth} GB/s' if bandwidth else 'bandwidth n/a'}; batch {batch}, {sys.argv[4]}, NHWC; "
      f"medians of {sys.argv[2]} repeats")
print(f"{'size':>5} {'program':16} {'images/s':>9} {'range':>15} {'multicard over it':>17} {'peak MB':>8} "
      f"{'least MB a step':>15} {'share of roof':>13}")
for size, programs in groups.items():
    own = median(programs["multicard"], "images_per_s")
    least = 5 * width * outputs[size] * batch + (24 + 3 * width) * parameters if size in outputs else None
    for program, runs in programs.items():
        rates = [run["images_per_s"] for run in runs]
        rate = statistics.median(rates)
        peak = median(runs, "peak_rank_bytes" if device == "cpu" else "peak_device_bytes")
        share = f"{least * rate / batch / bandwidth / 1e9:13.1%}" if bandwidth and least else f"{'n/a':>13}"
        print(f"{size:5} {program:16} {rate:9.1f} {min(rates):7.1f}-{max(rates):7.1f} {own / rate:17.2f} "
              f"{peak / 1e6:8.0f} {least / 1e6 if least else float('nan'):15.0f} {share}")
PYTHON
}

if [ "$peers" = none ]; then
  peers='' python=python3
elif ! install_image_peer; then
  exit 77
fi
# shellcheck disable=SC2086  # a list of words
if [ -n "$peers" ] && [ "$device" = cuda ]; then peers=$(peers_that_run with_image_peer $peers); fi
make_shards "$folder/data/train"
warn_unless_idle
for size in $sizes; do
  for repeat in $(seq "$repeats"); do
    say "size $size, repeat $repeat of $repeats  (${SECONDS} s since start)"
    run_multicard "$size"
    for peer in $peers; do run_peer "$size" "$peer"; done
  done
done
print_table | tee "$folder/table.txt"
