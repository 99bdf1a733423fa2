#!/usr/bin/env bash
# The whole path in a few minutes on two CPU cores: sets up, builds, prepares data, trains and writes the report,
# on two ranks, or on one where there is one GPU. Images (the default): MobileNetV2 on Fashion-MNIST, and how a step
# scales from one rank to two. Language: an adapter for SmolLM2-135M-Instruct on 1,100 instructions, and what the model
# answers before and after.
#
# usage: scripts/demo.sh [image | llm] [--smoke]
#   --smoke  few images or instructions and a few steps: less than a minute after the build, to see that everything
#            works. Without Fashion-MNIST it takes synthetic images, and where SmolLM2 has not been fetched yet
#            TinyStories-656K takes its place
# Writes data/fashion and results/fashion*, or data/instruct and results/lora, in the source tree (smoke: folders that
# end in _smoke). Safe to run again: a finished training or sweep is not repeated (remove its results folder to start
# over; smoke: it is), shards that are there are used, and the report is replaced. Where $MULTICARD_BUILD names a build
# folder, its programs are used, and nothing is set up or built.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
what=image scale=() suffix=""
while [ $# -gt 0 ]; do
  case $1 in
    image | llm) what=$1 ;;
    --smoke) set_scale "$1" ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
cd "$root"

# prepare NAME SET [OPTION ...]: the shards $data/NAME-*.h5 from the files of SET, unless they are there.
prepare() {
  local name=$1 set=$2
  shift 2
  if compgen -G "$data/$name-*.h5" >/dev/null; then
    say "      reusing $data/$name-*.h5"
    return
  fi
  if [ ! -r "$raw/$set-images-idx3-ubyte.gz" ] && [ "$suffix" = _smoke ]; then
    multicard prepare images --format synthetic --size 28 --classes 10 -o "$data/$name" "$@"
    return
  fi
  [ -r "$raw/$set-images-idx3-ubyte.gz" ] ||
    die "Fashion-MNIST is not in $raw: set FASHION_MNIST to the folder of its four idx files."
  multicard prepare images --format idx --images "$raw/$set-images-idx3-ubyte.gz" \
    --labels "$raw/$set-labels-idx1-ubyte.gz" -o "$data/$name" "$@"
}

# reuse FOLDER: says so when an earlier run left its results there.
reuse() {
  if [ -e "$1/results.h5" ] && [ -z "$suffix" ]; then
    say "      $1 is there: what is finished in it is not repeated"
  fi
}

ranks_text() { if [ "$ranks" = 1 ]; then echo "1 rank"; else echo "$ranks ranks"; fi; }

set_up_and_build() {  # OPTIONS of setup.sh
  if [ -n "${MULTICARD_BUILD:-}" ]; then
    step 2 6 "Using the programs of $MULTICARD_BUILD"
  else
    step 1 6 "Setting up"
    "$root/scripts/setup.sh" "$@"
    step 2 6 "Building"
    "$root/scripts/build.sh" release
  fi
  # shellcheck source=scripts/env.sh
  . "$root/scripts/env.sh"
  ranks=$MULTICARD_RANKS
  if [ "$(num_gpus)" -gt 0 ]; then say "      GPUs here: $(num_gpus), of which $ranks are used"; fi
}

demo_images() {
  local raw data=data/fashion$suffix
  local deck=inputs/image/fashion_mnist.yaml sweep=inputs/image/fashion_scaling.yaml
  local training=results/fashion$suffix scaling=results/fashion_scaling$suffix of_run=() of_sweep=()
  raw=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
  set_up_and_build --demo
  mkdir -p "$data"
  if [ "$suffix" = _smoke ]; then
    step 3 6 "Preparing 512 training images, 128 test images"
    prepare train train --limit 512
    prepare test t10k --limit 128
    of_run=("${scale[@]}" "data.train=$data/train*.h5" "data.test=$data/test*.h5")
    # Six measured steps, from which a speedup has an interval.
    of_sweep=("${of_run[@]}" limits.steps=8 limits.skip_steps=2)
  else
    step 3 6 "Preparing Fashion-MNIST: 20000 training images, 10000 test images"
    prepare train train --limit 20000 --shards 2
    prepare test t10k
  fi
  step 4 6 "Training MobileNetV2 at 100x100 on $(ranks_text)"
  say "      mpirun -n $ranks multicard run $deck ${of_run[*]}"
  reuse "$training"
  mpirun -n "$ranks" multicard run "$deck" "${of_run[@]}"
  step 5 6 "Measuring the scaling from 1 rank to $ranks"
  say "      mpirun -n $ranks multicard sweep $sweep ${of_sweep[*]}"
  reuse "$scaling"
  mpirun -n "$ranks" multicard sweep "$sweep" "${of_sweep[@]}"
  step 6 6 "Making tables, plots and the report"
  say "      the training:"
  multicard-post "$training/results.h5"
  say "      the scaling:"
  multicard-post "$scaling/results.h5"
  say ""
  say "Done after ${SECONDS} s."
  say "Report of the training: $root/$training/report.html"
  say "Report with the scaling plot: $root/$scaling/report.html"
}

demo_llm() {
  local model data=data/instruct results=results/lora$suffix deck=inputs/llm/lora.yaml checkpoint of_run=()
  set_up_and_build
  if [ "$suffix" = _smoke ]; then
    model=$(smoke_model)
    data=data/instruct_smoke/$(basename "$model")
    of_run=("${scale[@]}" "data.train=$data/alpaca-train*.h5" "data.test=$data/alpaca-test*.h5")
    step 3 6 "Taking the model $model"
  else
    step 3 6 "Getting SmolLM2-135M-Instruct (Apache-2.0), 93 MB"
    model=$("$root/scripts/get_model.sh" smollm2 | tail -n 1)
  fi
  step 4 6 "Preparing 1,100 instructions"
  if compgen -G "$data/alpaca-train-*.h5" >/dev/null; then
    say "      reusing $data/alpaca-*.h5"
  else
    mkdir -p "$data"
    multicard prepare text --type alpaca --tokenizer "$model" --in inputs/text/instruction-data.json --split 0.1 \
      -o "$data/alpaca"
  fi
  step 5 6 "Tuning on $(ranks_text)"
  of_run+=("model.path=$model")
  say "      mpirun -n $ranks multicard run $deck ${of_run[*]}"
  reuse "$results"
  mpirun -n "$ranks" multicard run "$deck" "${of_run[@]}"
  step 6 6 "Making tables, plots and the report"
  multicard-post "$results/results.h5"
  checkpoint=$(find "$results/checkpoints" -maxdepth 1 -name 'step_*' | sort | tail -n 1)
  say ""
  say "Done after ${SECONDS} s."
  say "Report of the tuning, with answers before and after: $root/$results/report.html"
  say "Ask it yourself: multicard generate $checkpoint --greedy \"Name three fruits.\""
  say "Adapter for PEFT or vLLM: multicard export $checkpoint my-adapter"
}

case $what in
  image) demo_images ;;
  llm) demo_llm ;;
esac
