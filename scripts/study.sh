#!/usr/bin/env bash
# The image study: prepares the shards that are missing, runs the five sweeps of inputs/image/study and makes one
# report of them.
#
# usage: scripts/study.sh [--quick | --smoke] [--ranks N] [PART ...]
#   --quick    the small variants of the sweeps: minutes on two CPU ranks
#   --smoke    a few steps of a few variants, on shards of their own: less than a minute, to see that everything works
#   --ranks N  ranks of the job: by default one for each GPU, without GPUs two
#   PART       scaling image_size precision input exchange: by default all of them; profile: where the time of the
#              strategies and image sizes goes (docs/profiling.md)
#
# Results go to results/study (quick: results/study_quick, smoke: results/study_smoke), the report to report/ in it.
# Start it again after a stop: it resumes where it was, and repeats nothing that is finished (smoke: all of it).
# Fashion-MNIST is read from $FASHION_MNIST (/usr/share/datasets/fashion-mnist); without it --smoke takes synthetic
# images. $MULTICARD_LAUNCH starts the ranks in place of mpirun, for example "srun --mpi=pmix" in a Slurm allocation;
# $MULTICARD_BUILD names a build folder other than build/release.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scale=() suffix="" ranks="" parts=()
while [ $# -gt 0 ]; do
  case $1 in
    --quick | --smoke) set_scale "$1" ;;
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
results=results/study$suffix native=data/study/native500 size=500 images=1024 shards=4
case $suffix in
  _quick) native=data/study/native128 size=128 images=512 ;;
  _smoke) native=data/study_smoke/native128 size=128 images=64 shards=1 ;;
esac

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

# fashion PREFIX SET OPTION...
fashion() {
  local prefix=$1 set=$2
  shift 2
  if [ ! -r "$raw/$set-images-idx3-ubyte.gz" ] && [ "$suffix" = _smoke ]; then
    prepare "$prefix" --format synthetic --size 28 --classes 10 "$@"
    return
  fi
  [ -r "$raw/$set-images-idx3-ubyte.gz" ] || compgen -G "$prefix-*.h5" >/dev/null ||
    die "Fashion-MNIST is not in $raw: set FASHION_MNIST to the folder of its four idx files."
  prepare "$prefix" --format idx --images "$raw/$set-images-idx3-ubyte.gz" \
    --labels "$raw/$set-labels-idx1-ubyte.gz" "$@"
}

# smoke_overrides PART: sets `own` to what a smoke test has in place of the values of a part's deck.
smoke_overrides() {
  local train="data/study_smoke/train-*.h5"
  [ "$1" != input ] || train="$native-*.h5"
  own=("data.train=$train" data.test=null "run.output=$results/$1" run.resume=never)
}

num_steps=$((${#parts[@]} + 2)) at=1 files=() own=()
step $at $num_steps "Preparing shards"
if [ "$suffix" = _smoke ]; then
  fashion data/study_smoke/train train --limit 512
else
  fashion data/fashion/train train
  fashion data/fashion/test t10k
fi
prepare "$native" --format synthetic --size "$size" --classes 10 --limit "$images" --shards "$shards"
for part in "${parts[@]}"; do
  deck=inputs/image/study/$part.yaml at=$((at + 1))
  [ "$suffix" != _smoke ] || smoke_overrides "$part"
  step $at $num_steps "${launch[*]} multicard sweep $deck ${scale[*]} ${own[*]}"
  "${launch[@]}" multicard sweep "$deck" "${scale[@]}" "${own[@]}"
  files+=("$results/$part/results.h5")
done
step $num_steps $num_steps "Making tables, plots and the report"
multicard-post "${files[@]}" -o "$results/report"
say ""
say "Done after ${SECONDS} s. Report: $root/$results/report/report.html"
