#!/usr/bin/env bash
# run.sh [--methods] FILE CLASS: runs a test class of a file here with the Python of the peers, with --methods those of
# tuning methods too; 77 where they are not installed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
# shellcheck source=scripts/peers.sh
. "$root/scripts/peers.sh"
installed=$peers_folder peers="transformers and PEFT are" option=''
if [ "$1" = --methods ]; then
  use_method_peers
  installed=$method_peers_folder peers="bitsandbytes and torchao are" option=' --methods'
  shift
fi
if ! [ -s "$installed/.multicard-complete" ] || ! find_torch_python; then
  echo "SKIPPED: $peers not installed (scripts/setup_peers.sh$option)"
  exit 77
fi
with_peers "$python" "$root/tests/peers/$1" "$2"
