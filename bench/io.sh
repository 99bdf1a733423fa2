#!/usr/bin/env bash
# GB/s of shard reads and result writes, next to what `multicard info --selftest` finds the file system can do: one
# markdown table (bench/data/io_bench.cpp says of what).
#
# usage: bench/io.sh [--build FOLDER] [--ranks R] [--stored S] [--images N] [--in FOLDER] [KEY=VALUE ...]
# Prepares N (8000) synthetic colour images of S x S (100) pixels in FOLDER (default: one in the build folder that is
# removed at the end), runs the self-test there on R ranks (1), and then io_bench of the build folder (build/release).
# Every KEY=VALUE goes to io_bench, e.g. batch=16 repeats=5. Takes about a minute.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

build=$root/build/release ranks=1 stored=100 images=8000 folder=
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
build=$(cd "$build" && pwd)
[ -x "$build/bin/io_bench" ] ||
  die "$build/bin/io_bench is not built: cmake --build $build --target io_bench multicard"
if [ -z "$folder" ]; then
  folder=$(mktemp -d "$build/io.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
fi
cd "$folder"
prefix=$PWD/io-$stored-$images
if ! compgen -G "$prefix-*.h5" >/dev/null; then
  "$build/bin/multicard" prepare images --format synthetic --size "$stored" --limit "$images" --shards 4 \
    -o "$prefix" >&2
  sync
fi
echo "$images images of $stored x $stored x 3 stored, $ranks rank(s), $(nproc --all) processors," \
  "$(lscpu | sed -n 's/^Model name: *//p'), disk: $(stat -f -c %T .)"
echo
mpirun -n "$ranks" "$build/bin/multicard" info --selftest --json >selftest.json
python3 - "$PWD/selftest.json" <<'PYTHON' >rows.txt
import json, sys
files = json.load(open(sys.argv[1]))["selftest"]["file_system"]
plain = files["plain"]
names = {"write_gb_per_s": "write", "read_cold_gb_per_s": "cold", "read_warm_gb_per_s": "warm"}
print(*("%s=%.6g" % (name, plain.get(key, 0)) for key, name in names.items()))
print("| what | GB/s | of plain files |\n|---|---:|---:|")
for kind in ("plain", "hdf5_independent", "hdf5_collective"):
    for key, name in names.items():
        if key in files.get(kind, {}):
            label = name if name == "write" else "read, " + name
            print("| self-test, %s, %s | %.3g | %.2g |" % (kind.replace("hdf5_", "HDF5 "), label, files[kind][key],
                                                        files[kind][key] / plain[key]))
PYTHON
sed 1d rows.txt
read -ra ceilings <rows.txt
mpirun -n "$ranks" "$build/bin/io_bench" shards="$prefix-*.h5" folder="$PWD" "${ceilings[@]}" "${settings[@]}"
rm -f selftest.json rows.txt
