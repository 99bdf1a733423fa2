#!/usr/bin/env bash
# Compares what multicard makes of random cases with what its peers make of them.
#
# usage: tests/peers/random/run.sh [--cases N] [--seed S] [--case I] [KIND ...]
#   KIND        images, folders, tokenizers, records or models; without any, all
#   --cases N   cases of each kind (100)
#   --seed S    the cases of this seed (1)
#   --case I    this case alone, and shows it
# It uses the test programs of build/release (cmake --build --preset release --target tests). Ends with 1 where a case
# differs silently, and with 77 where the peers are not installed (scripts/setup_peers.sh --methods --images).
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../../scripts/lib.sh"
# shellcheck source=scripts/peers.sh
. "$root/scripts/peers.sh"
if [ "${1:-}" = -h ] || [ "${1:-}" = --help ]; then
  usage "$0"
  exit 0
fi
use_method_peers
use_image_peers
for folder in "$peers_folder" "$method_peers_folder" "$image_peers_folder"; do
  if ! [ -s "$folder/.multicard-complete" ] || ! find_torch_python; then
    echo "SKIPPED: $folder is not installed (scripts/setup_peers.sh --methods --images)"
    exit 77
  fi
done
for name in images tokens records model; do
  variable=MULTICARD_PEER_${name^^}
  export "$variable=${!variable:-$root/build/release/tests/peer_$name}"
done
export RUST_BACKTRACE=0  # the tokenizers library panics on some files
with_peers "$python" "$root/tests/peers/random" "$@"
