#!/usr/bin/env bash
# Takes a bundle to a bare machine: hides the system's own copies of MPI, HDF5 and the other libraries in it, ssh, rsh,
# h5dump, compilers and the network, trains a little with it, and runs what scripts/gpu_day.sh can run on a CPU.
#
# usage: scripts/check_bundle.sh FOLDER|FILE.tar.xz|FILE.tar.gz [--quick]
#   --quick   without scripts/gpu_day.sh
# As root, all this is hidden in namespaces of this script's own; otherwise it stays visible.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:-} in
  -h | --help) usage "$0"; exit 0 ;;
  "") usage "$0" >&2; exit 2 ;;
esac

bundle=$(realpath "$1")
extent=${2:-whole}
work=${MULTICARD_CHECK_FOLDER:-$(mktemp -d)}
if [ -z "${MULTICARD_CHECK_FOLDER:-}" ]; then
  trap 'rm -rf "$work"' EXIT
  if [ -f "$bundle" ]; then
    tar -C "$work" -xf "$bundle"
    bundle=$work/multicard
  fi
  # As if unpacked on another machine: nothing of this one's MPI settings, no search path.
  unset LD_LIBRARY_PATH "${!OMPI_@}" "${!OPAL_@}" "${!PMIX_@}" MULTICARD_BUILD MULTICARD_ROOT FASHION_MNIST
  export MULTICARD_CHECK_FOLDER=$work
  if [ "$(id -u)" = 0 ] && unshare --mount --net true 2>/dev/null; then
    unshare --mount --net --propagation private "$0" "$bundle" "$extent"
  else
    say "not root: the system's own MPI and the network stay visible"
    "$0" "$bundle" "$extent"
  fi
  exit
fi

# ---- inside the namespaces -------------------------------------------------------------------------------------------
hide() { if [ -d "$1" ]; then mount -t tmpfs hidden "$1"; elif [ -e "$1" ]; then mount --bind /dev/null "$1"; fi; }

# Programs that a bare image does not have, in every folder of the PATH.
hide_programs() {
  local folder name
  local -a folders
  IFS=: read -r -a folders <<<"$PATH"
  for folder in "${folders[@]}"; do
    for name in ssh rsh h5dump gcc g++ cc c++ cpp clang nvcc ld as make ninja cmake ccache mpicc mpicxx; do
      if [ -e "$folder/$name" ]; then hide "$(readlink -f "$folder/$name")"; fi
    done
  done
}

hide_the_system() {
  local folder file of_mount
  of_mount=$(ldd "$(command -v mount)")  # what it loads cannot be hidden before all is
  hide_programs
  for folder in /usr/lib/*/openmpi /usr/lib/*/pmix2 /usr/lib/*/hdf5 /usr/share/openmpi /etc/openmpi \
    /usr/share/datasets; do
    hide "$folder"
  done
  for file in /usr/bin/mpirun.openmpi /usr/bin/orterun /usr/bin/orted; do hide "$(readlink -f "$file")"; done
  for file in "$bundle"/lib/*.so*; do
    case $of_mount in *"$(basename "$file") "*) continue ;; esac
    for folder in /usr/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu /usr/lib64; do
      if [ -e "$folder/$(basename "$file")" ]; then hide "$(readlink -f "$folder/$(basename "$file")")"; fi
    done
  done
}

own_namespace=$(readlink /proc/self/ns/mnt)
if [ "$(id -u)" = 0 ] && [ "$own_namespace" != "$(readlink "/proc/$PPID/ns/mnt")" ]; then
  if have ip; then ip link set lo up; fi  # a bare machine has that
  hide_the_system
fi
expect() { say "== $*"; "$@" || die "failed: $*"; }
# shellcheck disable=SC1091
. "$bundle/env.sh"
cd "$work"
expect multicard --version
expect multicard info
expect multicard prepare images --format synthetic --size 32 --classes 4 --limit 256 -o data/tiny/train
expect multicard prepare images --format synthetic --size 32 --classes 4 --limit 64 -o data/tiny/test
expect mpirun -n 2 multicard run "$bundle/inputs/image/tiny.yaml" run.steps=4
expect multicard-post results/tiny/results.h5 --csv
foreign=$(ldd "$bundle/bin/multicard" | awk '$2 == "=>" {print $3}' |
  grep -E '/lib(mpi|open-|hdf5|yaml|spdlog|png|jpeg|arrow|parquet)' | grep -v "^$bundle/" || true)
[ -z "$foreign" ] || die "libraries from outside the bundle are used: $foreign"
if [ "$extent" != --quick ]; then
  expect "$bundle/scripts/gpu_day.sh" --device cpu --parts "machine selftest image llm" -o "$work/gpu_day"
  [ "$(grep -c ' passed$' "$work/gpu_day/state")" = 4 ] || die "not all parts of gpu_day.sh have passed"
fi
echo "the bundle works"
