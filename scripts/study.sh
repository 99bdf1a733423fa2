#!/usr/bin/env bash
# The image study: prepares the shards that are missing, runs the five sweeps of inputs/image/study and makes one
# report of them.
#
# usage: scripts/study.sh [--quick] [--ranks N] [PART ...]
#   --quick    the small variants of the sweeps: minutes on two CPU ranks
#   --ranks N  ranks of the job: by default one for each GPU, without GPUs two
#   PART       scaling image_size precision input exchange: by default all of them
#
# Results go to results/study (quick: results/study_quick), the report to report/ in it. Start it again after a stop: it
# resumes where it was, and repeats nothing that is finished. Fashion-MNIST is read from $FASHION_MNIST
# (/usr/share/datasets/fashion-mnist). $MULTICARD_LAUNCH starts the ranks in place of mpirun, for example
# "srun --mpi=pmix" in a Slurm allocation.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quick=() ranks="" parts=()
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=(--quick) ;;
    --ranks) needs_value "$1" $#; ranks=$2; shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    -*) say "$program: unknown option $1 (see --help)"; exit 2 ;;
    *) [ -r "$root/inputs/image/study/$1.yaml" ] || { say "$program: no part is named $1 (see --help)"; exit 2; }
       parts+=("$1") ;;
  esac
  shift
done
[ ${#parts[@]} -gt 0 ] || parts=(scaling image_size precision input exchange)
ranks=$(rank_count "$ranks") || exit

cd "$root"
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
have multicard || die "multicard is not built: scripts/build.sh"
read -ra launch <<<"${MULTICARD_LAUNCH:-mpirun -n $ranks}"
raw=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
results=results/study native=500 images=1024
[ ${#quick[@]} -eq 0 ] || results=results/study_quick native=128 images=512

# prepare PREFIX OPTION...: makes the shards PREFIX-*.h5 unless they are there.
prepare() {
  local prefix=$1
  shift
  if compgen -G "$prefix-*.h5" >/dev/null; then
    say "      reusing $prefix-*.h5"
  else
    multicard prepare images "$@" -o "$prefix"
  fi
}

fashion() {
  [ -r "$raw/$2-images-idx3-ubyte.gz" ] || compgen -G "$1-*.h5" >/dev/null ||
    die "Fashion-MNIST is not in $raw: set FASHION_MNIST to the folder of its four idx files."
  prepare "$1" --format idx --images "$raw/$2-images-idx3-ubyte.gz" --labels "$raw/$2-labels-idx1-ubyte.gz"
}

num_steps=$((${#parts[@]} + 2)) at=1 files=()
step $at $num_steps "Preparing shards"
fashion data/fashion/train train
fashion data/fashion/test t10k
prepare "data/study/native$native" --format synthetic --size "$native" --classes 10 --limit "$images" --shards 4
for part in "${parts[@]}"; do
  deck=inputs/image/study/$part.yaml at=$((at + 1))
  step $at $num_steps "${launch[*]} multicard sweep $deck ${quick[*]}"
  "${launch[@]}" multicard sweep "$deck" "${quick[@]}"
  files+=("$results/$part/results.h5")
done
step $num_steps $num_steps "Making tables, plots and the report"
multicard-post "${files[@]}" -o "$results/report"
say ""
say "Done after ${SECONDS} s. Report: $root/$results/report/report.html"
