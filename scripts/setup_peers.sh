#!/usr/bin/env bash
# Installs what language models are compared with in tests and benchmarks: transformers 5.23.0 and PEFT 0.21.2 with what
# they import (60 MB to fetch, 190 MB in $MULTICARD_CACHE/llm-peers), beside the LibTorch wheel of scripts/setup.sh.
#
# usage: scripts/setup_peers.sh
# Ends with 77, after saying why, where they cannot be had. May be run any number of times, also by two at once.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/peers.sh
. "$root/scripts/peers.sh"
case ${1:-} in -h | --help) usage "$0"; exit 0 ;; esac

requirements=$root/scripts/llm-peers-requirements.txt
stamp=$peers_folder/.multicard-complete

unavailable() { say "$program: $*"; exit 77; }

is_complete() { cmp -s <(cat "$requirements" && echo "$version") "$stamp"; }

install_peers() {
  with_peers "$python" -c 'import torch' >&2 ||  # before anything is fetched
    unavailable "torch cannot be imported: without a CUDA toolkit, scripts/setup.sh --gpu fetches what it loads"
  find "$cache" -maxdepth 1 -name '.llm-peers.??????' -exec rm -rf {} +  # of an interrupted setup; we hold the lock
  staging=$(mktemp -d "$cache/.llm-peers.XXXXXX")
  trap 'rm -rf "$staging"' EXIT
  "$python" -m pip --version >/dev/null 2>&1 || unavailable "$python has no pip, which fetches transformers and PEFT"
  PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 "$python" -m pip --quiet --disable-pip-version-check install \
    --no-deps --require-hashes --only-binary=:all: --no-compile --target "$staging/part" -r "$requirements" >&2 ||
    unavailable "pip could not fetch transformers and PEFT (its message is above)"
  rm -rf "$peers_folder"
  mv "$staging/part" "$peers_folder"
  with_peers "$python" -c 'import transformers, peft' >&2 || unavailable "transformers and PEFT cannot be imported"
  { cat "$requirements" && echo "$version"; } >"$stamp"
}

find_torch_python || unavailable "$torch_folder holds no torch wheel for a Python that is here"
version=$("$python" -c 'import sys; print("Python %d.%d" % sys.version_info[:2])')
mkdir -p "$cache"
exec 9>"$cache/.llm-peers.lock"
if ! flock -n 9; then
  say "another setup is installing $peers_folder: waiting for it"
  flock 9
fi
if is_complete; then
  say "transformers and PEFT: already installed ($peers_folder)"
else
  say "transformers and PEFT: installing into $peers_folder"
  install_peers
fi
