# shellcheck shell=bash disable=SC2034,SC2154  # variables of the scripts that source this, and for them
# What the benchmarks of image training share: data, the Python of the PyTorch peer, and both programs' numbers.
# Sourced after scripts/lib.sh, not run.
# shellcheck source=scripts/peers.sh
. "$root/scripts/peers.sh"

raw=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}

need_image_data() {
  [ -r "$raw/train-images-idx3-ubyte.gz" ] || die "Fashion-MNIST is not in $raw (scripts/setup.sh --demo)"
}

# make_shards PREFIX: as many images as the peer takes, unless they are there.
make_shards() {
  if compgen -G "$1-*.h5" >/dev/null; then return; fi
  mkdir -p "$(dirname "$1")"
  multicard prepare images --format idx --images "$raw/train-images-idx3-ubyte.gz" \
    --labels "$raw/train-labels-idx1-ubyte.gz" --limit 20000 -o "$1"
}

# with_image_peer COMMAND...: runs it where torch and torchvision can be imported.
with_image_peer() {
  env PYTHONPATH="$torch_folder:$cache/peer" PYTHONDONTWRITEBYTECODE=1 \
    LD_LIBRARY_PATH="${CUDA_HOME:-/usr/local/cuda}/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
}

install_image_peer() {
  find_torch_python || die "$torch_folder holds no torch wheel for a Python that is here"
  if with_image_peer "$python" -c 'import torch, torchvision' 2>/dev/null; then return; fi
  say "Installing the peer's Python packages into $cache/peer"
  export PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 PIP_DISABLE_PIP_VERSION_CHECK=1
  rm -rf "$cache/peer"
  "$python" -m pip install --quiet --target "$cache/peer" typing_extensions sympy networkx jinja2 fsspec filelock \
    numpy 'setuptools<82' pillow >&2
  "$python" -m pip install --quiet --no-deps --target "$cache/peer" torchvision==0.26.0 >&2
  if ! with_image_peer "$python" -c 'import torch, torchvision' 2>/dev/null; then
    "$root/scripts/setup.sh" --gpu  # importing torch loads libtorch_cuda and with it cuDNN, NCCL and the others
    with_image_peer "$python" -c 'import torch, torchvision' || die "torch cannot be imported"
  fi
}

# measured_by_multicard RESULTS RANKS FOLDER: the same numbers as the peer's, as JSON; FOLDER is for what lies between.
measured_by_multicard() {
  multicard-post "$1" --csv >"$3/run.csv"
  h5dump -d /runs/main/steps/step -y -m %.9g "$1" >"$3/steps.txt"
  "$python" - "$3/run.csv" "$3/steps.txt" "$2" <<'PYTHON'
import csv
import json
import re
import sys
with open(sys.argv[1], newline="") as file:
    run = next(csv.DictReader(file))
with open(sys.argv[2]) as file:
    data = file.read().partition("DATA {")[2].partition("}")[0]
steps = [float(word) for word in re.findall(r"[\d.e+-]+", data)]
print(json.dumps({"images_per_s": float(run["rate_per_s"]), "data_wait_share": float(run["data_wait_share"]),
                  "steps_total_s": sum(steps) / int(sys.argv[3]), "peak_rank_bytes": int(run["host_peak_bytes"]),
                  "peak_device_bytes": int(run["device_peak_bytes"] or 0)}))
PYTHON
}
