#!/usr/bin/env bash
# The whole path in a few minutes on two CPU cores: sets up, builds, prepares data, trains and writes the report,
# on two ranks, or on one where there is one GPU. Images (the default): MobileNetV2 on Fashion-MNIST, and how a step
# scales from one rank to two. Language: an adapter for SmolLM2-135M-Instruct on 1,100 instructions, and what the model
# answers before and after.
#
# usage: scripts/demo.sh [image | llm]
# Writes data/fashion and results/fashion*, or data/instruct and results/lora, in the source tree. Safe to run again: a
# finished training or sweep is not repeated (remove its results folder to start over), shards that are there are used,
# and the report is replaced.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
what=${1:-image}
case $what in
  image | llm) ;;
  -h | --help) usage "$0"; exit 0 ;;
  *) say "$program: unknown option $what (see --help)"; exit 2 ;;
esac
cd "$root"

# prepare NAME SET [OPTION ...]: the shards data/fashion/NAME-*.h5 from the files of SET, unless they are there.
prepare() {
  local name=$1 set=$2
  shift 2
  if compgen -G "data/fashion/$name-*.h5" >/dev/null; then
    say "      reusing data/fashion/$name-*.h5"
    return
  fi
  [ -r "$raw/$set-images-idx3-ubyte.gz" ] ||
    die "Fashion-MNIST is not in $raw: set FASHION_MNIST to the folder of its four idx files."
  multicard prepare images --format idx --images "$raw/$set-images-idx3-ubyte.gz" \
    --labels "$raw/$set-labels-idx1-ubyte.gz" -o "data/fashion/$name" "$@"
}

# reuse FOLDER: says so when an earlier run left its results there.
reuse() { if [ -e "$1/results.h5" ]; then say "      $1 is there: what is finished in it is not repeated"; fi; }

ranks_text() { if [ "$ranks" = 1 ]; then echo "1 rank"; else echo "$ranks ranks"; fi; }

set_up_and_build() {  # OPTIONS of setup.sh
  step 1 6 "Setting up"
  "$root/scripts/setup.sh" "$@"
  step 2 6 "Building"
  "$root/scripts/build.sh" release
  # shellcheck source=scripts/env.sh
  . "$root/scripts/env.sh"
  ranks=$MULTICARD_RANKS
  if [ "$(num_gpus)" -gt 0 ]; then say "      GPUs here: $(num_gpus), of which $ranks are used"; fi
}

demo_images() {
  local raw deck sweep
  raw=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
  deck=inputs/image/fashion_mnist.yaml
  sweep=inputs/image/fashion_scaling.yaml
  set_up_and_build --demo
  step 3 6 "Preparing Fashion-MNIST: 20000 training images, 10000 test images"
  mkdir -p data/fashion
  prepare train train --limit 20000 --shards 2
  prepare test t10k
  step 4 6 "Training MobileNetV2 at 100x100 on $(ranks_text)"
  say "      mpirun -n $ranks multicard run $deck"
  reuse results/fashion
  mpirun -n "$ranks" multicard run "$deck"
  step 5 6 "Measuring the scaling from 1 rank to $ranks"
  say "      mpirun -n $ranks multicard sweep $sweep"
  reuse results/fashion_scaling
  mpirun -n "$ranks" multicard sweep "$sweep"
  step 6 6 "Making tables, plots and the report"
  say "      the training:"
  multicard-post results/fashion/results.h5
  say "      the scaling:"
  multicard-post results/fashion_scaling/results.h5
  say ""
  say "Done after ${SECONDS} s."
  say "Report of the training: $root/results/fashion/report.html"
  say "Report with the scaling plot: $root/results/fashion_scaling/report.html"
}

demo_llm() {
  local model deck=inputs/llm/lora.yaml checkpoint
  set_up_and_build
  step 3 6 "Getting SmolLM2-135M-Instruct (Apache-2.0), 93 MB"
  model=$("$root/scripts/get_model.sh" smollm2 | tail -n 1)
  step 4 6 "Preparing 1,100 instructions"
  if compgen -G "data/instruct/alpaca-train-*.h5" >/dev/null; then
    say "      reusing data/instruct/alpaca-*.h5"
  else
    mkdir -p data/instruct
    multicard prepare text --type alpaca --tokenizer "$model" --in inputs/text/instruction-data.json --split 0.1 \
      -o data/instruct/alpaca
  fi
  step 5 6 "Tuning on $(ranks_text)"
  say "      mpirun -n $ranks multicard run $deck model.path=$model"
  reuse results/lora
  mpirun -n "$ranks" multicard run "$deck" "model.path=$model"
  step 6 6 "Making tables, plots and the report"
  multicard-post results/lora/results.h5
  checkpoint=$(find results/lora/checkpoints -maxdepth 1 -name 'step_*' | sort | tail -n 1)
  say ""
  say "Done after ${SECONDS} s."
  say "Report of the tuning, with answers before and after: $root/results/lora/report.html"
  say "Ask it yourself: multicard generate $checkpoint --greedy \"Name three fruits.\""
  say "Adapter for PEFT or vLLM: multicard export $checkpoint my-adapter"
}

case $what in
  image) demo_images ;;
  llm) demo_llm ;;
esac
