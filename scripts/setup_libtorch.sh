#!/usr/bin/env bash
# Fetches LibTorch for an installed multicard: the version that it was built with, as pinned wheels, checked by sha256.
#
# usage: multicard-setup-libtorch [--system] [--gpu | --no-gpu] [--help]
#   --system  for all users, into lib/libtorch of the folder that multicard is installed in (/usr/local/lib/libtorch for
#             a multicard in /usr). Without it, for this user: $MULTICARD_CACHE/libtorch-VERSION, where MULTICARD_CACHE
#             is ~/.cache/multicard unless it is set
#   --gpu     also the CUDA libraries (cuDNN, NCCL, cuBLAS, ... 2.4 GB). Where `nvidia-smi -L` lists a GPU they are
#             installed automatically; --no-gpu leaves them out
#
# 530 MB to fetch, 1.6 GB on disk, about a minute. It needs Python 3.8 or newer with pip or venv, and nothing else does.
# multicard looks for LibTorch in TORCH_ROOT, then where this script puts it. May be run any number of times.
set -euo pipefail
scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/lib.sh
. "$scripts/lib.sh"
# shellcheck source=scripts/libtorch.sh
. "$scripts/libtorch.sh"

where=cache gpu=auto
while [ $# -gt 0 ]; do
  case $1 in
    --system) where=system ;;
    --gpu) gpu=yes ;;
    --no-gpu) gpu=no ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
[ ! -e "$root/CMakeLists.txt" ] || die "this is a source tree (packages hold an installed copy) Use scripts/setup.sh."

prefix=$(cd "$root/../.." && pwd)
version=$(libtorch_version "$(<"$root/scripts/libtorch/default")")
folder=$cache/libtorch-$version
if [ "$where" = system ]; then
  folder=$prefix/lib/libtorch
  if [ "$(basename "$prefix")" = usr ]; then folder=$prefix/local/lib/libtorch; fi
  # shellcheck disable=SC2034  # libtorch.sh says it
  other_store="Start it as root, or without --system."
fi
use_libtorch "$version" "$folder" "$gpu"
fetch_libtorch 1 2
step 2 2 "Ready: multicard finds LibTorch $version in $folder"
