#!/usr/bin/env bash
# multicard against transformers + PEFT on one GPU: LoRA (rank 16, alpha 32, all linear layers, bfloat16) on a model of
# Llama-3-8B's shape with random weights, which both make on the GPU. A step is 32 packed rows of 4096 tokens, every one
# a target, with the optimizer's update.
#
# usage: bench/gpu_llm.sh [--micro-batch 1] [--checkpointing] [--peers "default"] [--peer-micro-batch 1]
#                         [--peer-checkpointing] [--steps 10] [--warmup 2] [--repeats 1] [--batch 32] [--length 4096]
#                         [--model FOLDER] [--device cpu --check] [-o FOLDER]
#   --micro-batch, --peer-micro-batch      rows computed at a time
#   --checkpointing, --peer-checkpointing  compute the inside of each layer again in backward: less memory, more work
#   --peers     eager, or modes of torch.compile (default, max-autotune-no-cudagraphs, ...); none: multicard alone
#   --model     folder with a config.json (inputs/llm/llama3_8b_shape); its weights are not read
#   --check     tries this script itself with a tiny shape and a few short rows; its numbers mean nothing
# Every repeat runs multicard and each peer one after the other, with the same tokens; all must begin with about the
# same loss. Prints medians of steps and then of repeats; FOLDER (results/bench_gpu_llm) keeps every run as JSON.
# Nothing is fetched where the Python of TORCH_ROOT's wheel has transformers and PEFT. Ends with 77 without a GPU
# or without the peers.
#
# Utilisation counts what the model needs: 4 N a token (N: values of all linear layers and lm_head; frozen) and
# 3 * 2 L d T^2 a sequence of T tokens for causal attention (L layers, d the width of all query heads), whatever is
# computed twice; against 989 TFLOP/s, the data sheet's for bfloat16 on an H100 or H200 (SXM).
set -euo pipefail
export LC_ALL=C  # decimal points
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=bench/llm_peer.sh
. "$root/bench/llm_peer.sh"

micro_batch=1 checkpointing=no peers='' peer_micro_batch=1 peer_checkpointing=no steps='' warmup='' repeats=1 batch=''
length='' model='' device=cuda check=no
folder=$root/results/bench_gpu_llm
read_options micro_batch checkpointing? peers peer_micro_batch peer_checkpointing? steps warmup repeats batch length \
  model device check? -- "$@"
if [ "$check" = yes ]; then
  : "${peers:=eager}" "${steps:=2}" "${warmup:=1}" "${batch:=4}" "${length:=64}"
  : "${model:=$root/tests/data/models/tinystories-656K}"
else
  : "${peers:=default}" "${steps:=10}" "${warmup:=2}" "${batch:=32}" "${length:=4096}"
  : "${model:=$root/inputs/llm/llama3_8b_shape}"
fi
if [ "$device" = cuda ] && ! nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then
  say "$program: no CUDA device"
  exit 77
fi
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
mkdir -p "$folder"
records=$folder/runs.jsonl
: >"$records"
# Blocks of many sizes come and go: without it both programs' allocators fragment the GPU's memory.
tuning=("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
export "${tuning[@]}"

# $folder/rows.jsonl: rows of exactly $length random tokens.
make_rows() {
  "$python" - "$model/config.json" "$folder/rows.jsonl" "$length" $(((warmup + steps) * batch)) <<'PYTHON'
import json
import random
import sys

config, path, length, num_rows = sys.argv[1:]
with open(config, encoding="utf-8") as file:
    vocabulary = json.load(file)["vocab_size"]
draw = random.Random(1)
with open(path, "w", encoding="utf-8") as file:
    for _ in range(int(num_rows)):
        row = draw.choices(range(vocabulary), k=int(length))
        print(json.dumps({"input_ids": row, "labels": row}), file=file)
PYTHON
  make_token_shards rows
}

run_multicard() {
  local measured
  measured=$(tune_by_multicard rows 1 bf16 data.packing=true model.random_weights=true \
    "model.activation_checkpointing=$([ "$checkpointing" = yes ] && echo true || echo false)")
  note "$records" "$measured" program=multicard "micro_batch=$micro_batch" "checkpointing=$checkpointing"
}

run_peer() {  # eager | MODE
  local options=(--random-weights --micro-batch "$peer_micro_batch") measured
  if [ "$1" != eager ]; then options+=(--compile "$1"); fi
  if [ "$peer_checkpointing" = yes ]; then options+=(--checkpointing); fi
  measured=$(tune_by_peer rows 1 bf16 "${options[@]}")
  note "$records" "$measured" "program=peer $1" "micro_batch=$peer_micro_batch" "checkpointing=$peer_checkpointing"
}

print_table() {
  "$python" - "$records" "$model/config.json" "$length" "$batch rows of $length tokens a step, bf16; $steps steps, \
$repeats repeats" "$(device_name)" <<'PYTHON'
import json
import statistics
import sys

records, config, length, title, device = sys.argv[1:]
with open(config, encoding="utf-8") as file:
    c = json.load(file)
programs = {}
with open(records, encoding="utf-8") as file:
    for run in map(json.loads, file):
        programs.setdefault(run["program"], []).append(run)
        device = run.get("device", device)

layers, hidden = c["num_hidden_layers"], c["hidden_size"]
head = c.get("head_dim") or hidden // c["num_attention_heads"]
queries, keys = c["num_attention_heads"] * head, (c.get("num_key_value_heads") or c["num_attention_heads"]) * head
multiplied = layers * hidden * (2 * queries + 2 * keys + 3 * c["intermediate_size"]) + c["vocab_size"] * hidden
flops_of_token = 4 * multiplied + 3 * 2 * layers * queries * int(length)
is_known = any(name in device for name in ("H100", "H200")) and not any(name in device for name in ("PCIe", "NVL"))


def median(runs, key):
    return statistics.median(run[key] for run in runs)


own = programs["multicard"]
print(f"{device}; {title}")
print(f"{'program':32} {'rows at a time':>14} {'checkpointing':>13} {'tokens/s':>9} {'range':>15} "
      f"{'multicard over it':>17} {'TFLOP/s':>8} {'utilisation':>11} {'peak GB':>8} {'loss':>8}")
for program, runs in programs.items():
    rates = [run["tokens_per_s"] for run in runs]
    rate = statistics.median(rates)
    ratio = statistics.median(mine["tokens_per_s"] / run["tokens_per_s"] for mine, run in zip(own, runs))
    share = f"{rate * flops_of_token / 989e12:11.1%}" if is_known else f"{'n/a':>11}"
    peak = median(runs, "peak_rank_bytes" if device == "cpu" else "peak_device_bytes")
    print(f"{program:32} {runs[0]['micro_batch']:14} {runs[0]['checkpointing']:>13} {rate:9.1f} "
          f"{min(rates):7.1f}-{max(rates):7.1f} {ratio:17.2f} {rate * flops_of_token / 1e12:8.2f} {share} "
          f"{peak / 1e9:8.2f} {runs[0]['first_loss']:8.4f}")
differing = [program for program, runs in programs.items()
             if any(abs(run["first_loss"] / own[0]["first_loss"] - 1) > 0.02 for run in runs)]
if differing:
    sys.exit("another loss at the start than multicard's, so not the same work: " + ", ".join(differing))
PYTHON
}

if [ "$peers" = none ]; then
  peers='' python=python3
elif ! install_llm_peer; then
  exit 77
fi
# shellcheck disable=SC2086  # a list of words
if [ -n "$peers" ] && [ "$device" = cuda ]; then peers=$(peers_that_run with_peers $peers); fi
make_rows
warn_unless_idle
for repeat in $(seq "$repeats"); do
  say "repeat $repeat of $repeats: multicard  (${SECONDS} s since start)"
  run_multicard
  for peer in $peers; do
    say "repeat $repeat of $repeats: peer, $peer  (${SECONDS} s since start)"
    run_peer "$peer"
  done
done
print_table | tee "$folder/table.txt"
