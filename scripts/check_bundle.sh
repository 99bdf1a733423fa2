#!/usr/bin/env bash
# Takes a bundle, hides the system's own copies of MPI, HDF5 and the other libraries in it, and trains a little with it.
#
# usage: scripts/check_bundle.sh FOLDER|FILE.tar.gz
# As root the system's files are hidden in a mount namespace of this script's own; otherwise that part is left out.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case ${1:-} in
  -h | --help) usage "$0"; exit 0 ;;
  "") usage "$0" >&2; exit 2 ;;
esac

bundle=$(realpath "$1")
work=${MULTICARD_CHECK_FOLDER:-$(mktemp -d)}
if [ -z "${MULTICARD_CHECK_FOLDER:-}" ]; then
  trap 'rm -rf "$work"' EXIT
  if [ -f "$bundle" ]; then
    tar -C "$work" -xzf "$bundle"
    bundle=$work/multicard
  fi
  # As if unpacked on another machine: nothing of this one's MPI settings, no search path.
  unset LD_LIBRARY_PATH "${!OMPI_@}" "${!OPAL_@}" "${!PMIX_@}" MULTICARD_BUILD MULTICARD_ROOT
  export MULTICARD_CHECK_FOLDER=$work
  if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    unshare --mount --propagation private "$0" "$bundle"
  else
    say "not root: the system's own MPI stays visible"
    "$0" "$bundle"
  fi
  exit
fi

# ---- inside the namespace --------------------------------------------------------------------------------------------
hide() { if [ -d "$1" ]; then mount -t tmpfs hidden "$1"; elif [ -e "$1" ]; then mount --bind /dev/null "$1"; fi; }

hide_the_system() {
  local folder file of_mount
  of_mount=$(ldd "$(command -v mount)")  # what it loads cannot be hidden before all is
  for folder in /usr/lib/*/openmpi /usr/lib/*/pmix2 /usr/lib/*/hdf5 /usr/share/openmpi /etc/openmpi; do
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
if [ "$(id -u)" = 0 ] && [ "$own_namespace" != "$(readlink "/proc/$PPID/ns/mnt")" ]; then hide_the_system; fi
# shellcheck disable=SC1091
. "$bundle/env.sh"
cd "$work"
expect() { say "== $*"; "$@" || die "failed: $*"; }
expect multicard --version
expect multicard prepare images --format synthetic --size 32 --classes 4 --limit 256 -o data/tiny/train
expect multicard prepare images --format synthetic --size 32 --classes 4 --limit 64 -o data/tiny/test
expect mpirun -n 2 multicard run "$bundle/inputs/image/tiny.yaml" run.steps=4
expect multicard-post results/tiny/results.h5 --csv
foreign=$(ldd "$bundle/bin/multicard" | awk '$2 == "=>" {print $3}' |
  grep -E '/lib(mpi|open-|hdf5|yaml|spdlog|png|jpeg)' | grep -v "^$bundle/" || true)
[ -z "$foreign" ] || die "libraries from outside the bundle are used: $foreign"
echo "the bundle works"
