#!/usr/bin/env bash
# The whole path in a few minutes on two CPU cores: sets up, builds, prepares Fashion-MNIST, trains MobileNetV2 on two
# ranks, measures how a step scales from one rank to two, and writes the report.
#
# usage: scripts/demo.sh
# Writes data/fashion and results/fashion*, in the source tree. Safe to run again: a finished training or sweep is not
# repeated (remove results/fashion* to start anew), shards that are there are used, and the report is replaced.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:-} in
  "") ;;
  -h | --help) usage "$0"; exit 0 ;;
  *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
esac

cd "$root"
raw=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
deck=inputs/image/fashion_mnist.yaml
sweep=inputs/image/fashion_scaling.yaml

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

step 1 6 "Setting up"
"$root/scripts/setup.sh" --demo
step 2 6 "Building"
"$root/scripts/build.sh" release --target multicard multicard-post
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
step 3 6 "Preparing Fashion-MNIST: 20000 training images, 10000 test images"
mkdir -p data/fashion
prepare train train --limit 20000 --shards 2
prepare test t10k
step 4 6 "Training MobileNetV2 at 100x100 on 2 ranks: mpirun -n 2 multicard run $deck"
reuse results/fashion
mpirun -n 2 multicard run "$deck"
step 5 6 "Measuring the scaling from 1 to 2 ranks: mpirun -n 2 multicard sweep $sweep"
reuse results/fashion_scaling
mpirun -n 2 multicard sweep "$sweep"
step 6 6 "Making tables, plots and the report"
say "      the training:"
multicard-post results/fashion/results.h5
say "      the scaling from 1 to 2 ranks:"
multicard-post results/fashion_scaling/results.h5
say ""
say "Done after ${SECONDS} s."
say "Report of the training: $root/results/fashion/report.html"
say "Report with the scaling plot: $root/results/fashion_scaling/report.html"
