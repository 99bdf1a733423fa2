#!/usr/bin/env bash
# Runs a command where source tree, build and caches are hidden, and LibTorch is in a folder of another name.
#
# usage: hidden.sh LIBTORCH PLACE HIDDEN... -- COMMAND ...     in a mount namespace of its own, as its root
#   LIBTORCH  the folder that appears as PLACE; empty: none does
#   HIDDEN    folders that are empty for the command
set -euo pipefail
libtorch=$1 place=$2
shift 2
if [ -n "$libtorch" ]; then
  mkdir -p "$place"
  mount --bind "$libtorch" "$place"
fi
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs hidden "$1"; fi
  shift
done
shift
exec "$@"
