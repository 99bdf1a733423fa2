# shellcheck shell=bash disable=SC2034  # the scripts that source this use the variables
# The Python of the programs that multicard is compared with: LibTorch's wheel is importable, and transformers and PEFT
# are in a folder of the cache. Sourced after lib.sh, not run.

shopt -s inherit_errexit  # what fails inside $(...) ends that too

torch_folder=$(dirname "$(libtorch_folder)")
# shellcheck disable=SC2154  # lib.sh sets it
peers_folder=$cache/llm-peers
method_peers_folder=$cache/llm-method-peers
image_peers_folder=$cache/image-peers
trace_processor_folder=$cache/trace-processor
peers_path=$torch_folder:$peers_folder

# Lets with_peers find TRL, bitsandbytes and torchao too (setup_peers.sh --methods).
use_method_peers() { peers_path+=:$method_peers_folder; }

# Likewise torchvision and Pillow (setup_peers.sh --images).
use_image_peers() { peers_path+=:$image_peers_folder; }

# Sets `python` to the one that the torch wheel is for: it fits one minor version only, which its tag names.
find_torch_python() {
  local tag version candidate
  tag=$(sed -n 's/^Tag: cp3\([0-9]*\)-.*/\1/p' "$torch_folder"/torch-*.dist-info/WHEEL 2>/dev/null | head -1)
  [ -n "$tag" ] || return 1
  for candidate in ${MULTICARD_PYTHON:-} python3 "python3.$tag" /usr/bin/python3; do
    version=$("$candidate" -c 'import sys; print(sys.version_info[1])' 2>/dev/null) || continue
    if [ "$version" = "$tag" ]; then python=$candidate; return; fi
  done
  return 1
}

# with_peers COMMAND...: runs it where torch, transformers and PEFT can be imported; nothing is fetched from a hub.
with_peers() {
  env PYTHONPATH="$peers_path" PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 \
    LD_LIBRARY_PATH="${CUDA_HOME:-/usr/local/cuda}/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
}

# peers_that_run WITH MODE...: prints those modes of torch.compile, and eager, that can run on a GPU here; WITH is
# with_peers or the like. Without triton that is eager.
peers_that_run() {
  local with=$1
  shift
  if [ "$*" = eager ] || "$with" "$python" -c 'import triton' 2>/dev/null; then
    echo "$*"
  else
    say "no triton here, which torch.compile needs on a GPU: the peer runs eager. Let TORCH_ROOT name the torch of a"
    say "Python that has triton for the other modes."
    echo eager
  fi
}

# Prints what the benchmark computes on; the script has set `device`.
# shellcheck disable=SC2154
device_name() {
  local names=cpu
  if [ "$device" = cuda ]; then names=$(nvidia-smi --query-gpu=name --format=csv,noheader); fi
  head -n 1 <<<"$names"
}

# note RECORDS JSON KEY=VALUE...: one line of records.
note() {
  "$python" - "$@" <<'PYTHON' >>"$1"
import json
import sys
record = json.loads(sys.argv[2])
for word in sys.argv[3:]:
    key, _, value = word.partition("=")
    try:
        record[key] = json.loads(value)
    except ValueError:
        record[key] = value
print(json.dumps(record))
PYTHON
}
