#!/usr/bin/env bash
# Images/s of the input pipeline, whatever the options: one markdown table (bench/data/input_bench.cpp says of what).
#
# usage: bench/input_options.sh [--build FOLDER] [--ranks R] [--stored S] [--images N] [--in FOLDER] [KEY=VALUE ...]
# Prepares N (4000) synthetic colour images of S x S (100) pixels in FOLDER (default: one in the build folder that is
# removed at the end), on whose disk the cold numbers depend. Then runs input_bench of the build folder (build/release)
# on R ranks (1). Every KEY=VALUE goes to input_bench, e.g. sizes=100,224 workers=0,2 repeats=5. Takes about 15 minutes
# with the defaults.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

build=$root/build/release ranks=1 stored=100 images=4000 folder=
settings=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift ;;
    --ranks) ranks=$2; shift ;;
    --stored) stored=$2; shift ;;
    --images) images=$2; shift ;;
    --in) folder=$2; shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *=*) settings+=("$1") ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
# shellcheck source=scripts/env.sh
. "$root/scripts/env.sh"
bench=$build/bin/input_bench
[ -x "$bench" ] ||
  die "$bench is not built: cmake --build $build --target input_bench multicard"
if [ -z "$folder" ]; then
  folder=$(mktemp -d "$build/input_options.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
fi
prefix=$folder/input-$stored-$images
if ! compgen -G "$prefix-*.h5" >/dev/null; then
  "$build/bin/multicard" prepare images --format synthetic --size "$stored" --limit "$images" --shards 4 \
    -o "$prefix" >&2
  sync
fi
echo "$images images of $stored x $stored x 3 stored, $ranks rank(s), $(nproc --all) processors," \
  "$(lscpu | sed -n 's/^Model name: *//p'), disk of $folder: $(stat -f -c %T "$folder")"
echo
mpirun -n "$ranks" "$bench" shards="$prefix-*.h5" "${settings[@]}"
