#!/usr/bin/env bash
# run.sh FILE CLASS: runs one class of a test file here with the Python of the peers; 77 where they are not installed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
# shellcheck source=scripts/peers.sh
. "$root/scripts/peers.sh"
if ! [ -s "$peers_folder/.multicard-complete" ] || ! find_torch_python; then
  echo "SKIPPED: transformers and PEFT are not installed (scripts/setup_peers.sh)"
  exit 77
fi
with_peers "$python" "$root/tests/peers/$1" "$2"
