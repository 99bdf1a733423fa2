#!/usr/bin/env bash
# Makes the files of this folder with an older multicard.
#
# usage: make.sh OLD_BIN SOURCE FOLDER
#   OLD_BIN  folder of that version's programs
#   SOURCE   a source tree with the tiny model and the texts
#   FOLDER   where they go; must not be there yet
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
source_tree=$(cd "$2" && pwd)
mkdir "$3"
PATH=$(cd "$1" && pwd):$PATH
cd "$3"
say() { echo "$1" >&2; }
quietly() { "$@" >>log.txt 2>&1; }

cp -r "$source_tree/tests/data/models/tinystories-656K" model
python3 -c '
import json, sys
json.dump(json.load(open(sys.argv[1]))[:60], open("text.json", "w"))' "$source_tree/inputs/text/instruction-data.json"
quietly multicard prepare text --type alpaca --tokenizer model --in text.json --split 0.2 -o text
cat >deck.yaml <<'DECK'
task: llm
model: {path: model, dtype: fp32}
method: {name: lora, rank: 2, alpha: 4, targets: [q_proj, v_proj]}
data: {train: "text-train*.h5", test: "text-test*.h5", max_length: 160}
optimizer: {name: adamw, learning_rate: 0.002, clip_norm: 1.0}
run: {output: out, steps: 8, global_batch: 4, seed: 3, keep_checkpoints: 1, log_every: 1, deterministic: true}
evaluate: {every_steps: 3, every_epochs: 0}
DECK
cat >image.yaml <<'DECK'
task: image
model: {name: mobilenet_v2, width: 0.25, dropout: 0.0}
data: {train: "train*.h5", test: "test*.h5", image_size: 32}
optimizer: {name: sgd, learning_rate: 0.005, momentum: 0.9}
run: {output: image, epochs: 2, global_batch: 16, seed: 3, log_every: 1}
DECK
cat >share.yaml <<'DECK'
tasks:
  - {deck: image.yaml, name: vision, epochs: 40}
  - {deck: deck.yaml, name: text, steps: 150, weight: 2}
policy: {interval_s: 1}
run: {output: shared}
DECK
for part in train:64 test:16; do
  quietly multicard prepare images --format synthetic --size 32 --classes 4 --limit "${part#*:}" -o "${part%:*}"
done

say "a run on two ranks, resumed on one and on three"
quietly mpirun -n 2 multicard run deck.yaml run.steps=3
quietly mpirun -n 1 multicard run deck.yaml run.steps=5
quietly mpirun -n 3 multicard run deck.yaml run.steps=6
mkdir kept
cp -r out kept/run
say "what it would have become"
quietly mpirun -n 3 multicard run deck.yaml
cp out/results.h5 kept/whole.h5
say "images"
quietly mpirun -n 2 multicard run image.yaml
cp image/results.h5 kept/image.h5
quietly mpirun -n 2 multicard run image.yaml run.output=broken optimizer.learning_rate=1e30 || true
cp broken/results.h5 kept/failed.h5
say "a share, stopped and resumed"
quietly mpirun -n 2 multicard share share.yaml run.wall_limit=3 || true
quietly mpirun -n 2 multicard share share.yaml
mkdir kept/share
cp shared/share.json shared/results.h5 kept/share/
