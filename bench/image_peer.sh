# shellcheck shell=bash disable=SC2034,SC2154  # variables of the scripts that source this, and for them
# What the benchmarks of image training share: data, the Python of the PyTorch peer, and both programs' numbers.
# Sourced after scripts/lib.sh, not run.
# shellcheck source=scripts/peers.sh
. "$root/scripts/peers.sh"

# Sets `raw` to a folder of the training images of Fashion-MNIST, or of their first 20,000, which a bundle holds. Where
# there is none, to random images of the same shape: they take as long, and only the losses mean nothing.
find_image_data() {
  for raw in "${FASHION_MNIST:-$root/data/fashion-mnist}" /usr/share/datasets/fashion-mnist; do
    if [ -r "$raw/train-images-idx3-ubyte.gz" ]; then return; fi
    [ -z "${FASHION_MNIST:-}" ] || die "no train-images-idx3-ubyte.gz in FASHION_MNIST=$FASHION_MNIST"
  done
  raw=$folder/random
  say "no Fashion-MNIST here (FASHION_MNIST=FOLDER names one): random images in $raw"
  python3 "$root/bench/idx_images.py" --random "$raw"
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

# Sets `python`, and fetches the peer's packages where they are missing. Fails, after saying why, where it cannot.
install_image_peer() {
  find_torch_python || { say "no peer: $torch_folder holds no torch wheel for a Python that is here"; return 1; }
  if with_image_peer "$python" -c 'import torch, torchvision' 2>/dev/null; then return; fi
  say "Installing the peer's Python packages into $cache/peer"
  export PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 PIP_DISABLE_PIP_VERSION_CHECK=1
  rm -rf "$cache/peer"
  if ! "$python" -m pip install --quiet --target "$cache/peer" typing_extensions sympy networkx jinja2 fsspec filelock \
    numpy 'setuptools<82' pillow >&2 ||
    ! "$python" -m pip install --quiet --no-deps --target "$cache/peer" torchvision==0.26.0 >&2; then
    say "no peer: its packages cannot be fetched"
    return 1
  fi
  if with_image_peer "$python" -c 'import torch, torchvision' 2>/dev/null; then return; fi
  # Importing torch loads libtorch_cuda and with it cuDNN, NCCL and the others.
  [ ! -x "$root/scripts/setup.sh" ] || "$root/scripts/setup.sh" --gpu || return 1
  with_image_peer "$python" -c 'import torch, torchvision' || { say "no peer: torch cannot be imported"; return 1; }
}

# measured_by_multicard RESULTS FOLDER: numbers that the peer gives too, as JSON; FOLDER is for what lies between.
measured_by_multicard() {
  multicard-post "$1" --csv >"$2/run.csv"
  "$python" - "$2/run.csv" <<'PYTHON'
import csv
import json
import sys
with open(sys.argv[1], newline="") as file:
    run = next(csv.DictReader(file))
print(json.dumps({"images_per_s": float(run["rate_per_s"]), "data_wait_share": float(run["data_wait_share"]),
                  "peak_rank_bytes": int(run["host_peak_bytes"]),
                  "peak_device_bytes": int(run["device_peak_bytes"] or 0)}))
PYTHON
}
