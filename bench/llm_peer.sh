# shellcheck shell=bash disable=SC2034,SC2154  # variables of the scripts that source this, and for them
# What the benchmarks of language models share: the peer's Python, rows for both programs, and how they are started.
# Sourced after scripts/lib.sh, not run. The scripts set folder, model, length, batch, micro_batch, steps, warmup and
# device.
# shellcheck source=scripts/peers.sh
. "$root/scripts/peers.sh"

# Sets `python`. A Python that has transformers and PEFT itself is taken as it is, so that nothing need be fetched.
install_llm_peer() {
  if [ -d "$peers_folder" ] || ! find_torch_python || ! with_peers "$python" -c 'import transformers, peft' 2>/dev/null
  then
    "$root/scripts/setup_peers.sh" || return
    find_torch_python || die "$torch_folder holds no torch wheel for a Python that is here"
  fi
}

# make_token_shards NAME: $folder/data/NAME-*.h5 of $folder/NAME.jsonl.
make_token_shards() {
  rm -rf "$folder/data/$1"-*.h5
  mkdir -p "$folder/data"
  multicard prepare text --type tokens --in "$folder/$1.jsonl" -o "$folder/data/$1" >"$folder/prepare.log" 2>&1 ||
    die "the rows cannot be prepared: $(head -n 1 "$folder/prepare.log")"
}

# method_in_deck METHOD GROUP_SIZE: what a deck says of a method, with adapters of rank 16 on all linear layers.
method_in_deck() {
  local adapters=''
  case $1 in *lora*) adapters=', rank: 16, alpha: 32, targets: all-linear' ;; esac
  case $1 in *qat) adapters+=", group_size: $2" ;; esac
  echo "method={name: $1$adapters}"
}

# tune_by_multicard NAME RANKS PRECISION KEY=VALUE...: LoRA of rank 16 on the rows of make_token_shards NAME, or another
# method; prints what was measured as JSON.
tune_by_multicard() {
  local name=$1 ranks=$2 precision=$3
  shift 3
  rm -rf "$folder/multicard"
  mpirun -n "$ranks" multicard run "$root/inputs/llm/lora.yaml" "model.path=$model" "model.dtype=$precision" \
    "data.train=$folder/data/$name-*.h5" data.test=null "data.max_length=$length" data.shuffle=false \
    "evaluate={at_start: false}" optimizer.clip_norm=null schedule.name=constant schedule.warmup_steps=0 \
    "run.device=$device" "run.batch_per_rank=$batch" "run.micro_batch=$micro_batch" "run.steps=$((warmup + steps))" \
    run.keep_checkpoints=0 run.checkpoint_every=0 run.resume=never run.json_lines=true run.log_every=1 \
    "profile.skip_steps=$warmup" "run.output=$folder/multicard" "$@" >"$folder/multicard.log" 2>&1 ||
    die "multicard failed: $(head -n 1 "$folder/multicard.log")"
  multicard-post "$folder/multicard/results.h5" --csv >"$folder/run.csv"
  "$python" - "$folder/run.csv" "$folder/multicard/metrics.jsonl" <<'PYTHON'
import csv
import json
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    run = next(csv.DictReader(file))
assert run["unit"] == "tokens", run["unit"]
with open(sys.argv[2], encoding="utf-8") as file:
    first_loss = next(line["train_loss"] for line in map(json.loads, file) if "train_loss" in line)
print(json.dumps({"tokens_per_s": float(run["rate_per_s"]), "peak_rank_bytes": int(run["host_peak_bytes"]),
                  "peak_device_bytes": int(run["device_peak_bytes"] or 0),
                  "exchange_share": float(run["exposed_share"] or 0), "first_loss": first_loss}))
PYTHON
}

# tune_by_peer NAME RANKS PRECISION OPTION...: the same with transformers and PEFT, with extra environment in the array
# `tuning`.
tune_by_peer() {
  local name=$1 ranks=$2 precision=$3 start=()
  shift 3
  if [ "$ranks" -gt 1 ]; then start=(-m torch.distributed.run --standalone --nproc-per-node "$ranks"); fi
  with_peers "${tuning[@]}" "$python" "${start[@]}" "$root/bench/peer_llm.py" --model "$model" --device "$device" \
    --rows "$folder/$name.jsonl" --precision "$precision" --batch "$batch" --steps "$steps" --warmup "$warmup" "$@" \
    >"$folder/peer.json" 2>"$folder/peer.log" || die "the peer failed: $(tail -n 3 "$folder/peer.log")"
  tail -n 1 "$folder/peer.json"
}
