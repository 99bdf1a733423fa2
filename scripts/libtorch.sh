# shellcheck shell=bash disable=SC2154  # lib.sh sets what is used here
# Fetches the wheel of LibTorch and the CUDA libraries next to it, pinned by the files in scripts/libtorch/. Sourced
# after lib.sh by setup.sh, and by setup_libtorch.sh on machines where packages are installed; not run.

# use_libtorch VERSION FOLDER GPU: what fetch_libtorch installs, and where. GPU is yes, no, or auto: with the CUDA
# libraries where there is a GPU.
use_libtorch() {
  torch_version=$1 folder=$2 with_gpu=$3
  store=$(dirname "$folder")
  stamp=$folder/.multicard-complete
  requirements=("$root/scripts/libtorch/$torch_version.txt" "$root/scripts/libtorch/$torch_version-gpu.txt")
  if [ "$with_gpu" = auto ]; then
    if [ "$(num_gpus)" -gt 0 ]; then with_gpu=yes; else with_gpu=no; fi
  fi
}

packages_of() { sed -n 's/^\([a-z0-9-]*==[^ ]*\).*/\1/p' "$1"; }

# Whether the CUDA toolkit or the system has an NCCL, and it is older than the one libtorch_cuda must be loaded with.
has_older_nccl() {
  local folder found needed
  needed=$(packages_of "${requirements[1]}" | sed -n 's/^nvidia-nccl-cu13==\([0-9]*\.[0-9]*\).*/\1/p')
  for folder in "${CUDA_HOME:-/usr/local/cuda}" /usr; do
    if ! [ -r "$folder/include/nccl.h" ]; then continue; fi
    found=$(awk '/^#define NCCL_(MAJOR|MINOR) / {v = v sep $3; sep = "."} END {print v}' "$folder/include/nccl.h")
    [ "$found" != "$needed" ] && printf '%s\n%s\n' "$found" "$needed" | sort -CV
    return
  done
  return 1
}

wanted_packages() {
  packages_of "${requirements[0]}"
  if [ "$with_gpu" = yes ]; then
    packages_of "${requirements[1]}"
  elif has_older_nccl; then
    packages_of "${requirements[1]}" | grep '^nvidia-nccl'
  fi
}

# complete: everything wanted is stamped as verified and all files still have their sizes.
libtorch_is_complete() {
  [ -s "$stamp" ] && ! wanted_packages | grep -vxFf "$stamp" >/dev/null &&
    python3 "$root/scripts/wheel_records.py" "$folder" >/dev/null
}

missing_wheels() {
  local package record
  wanted_packages | while IFS= read -r package; do
    record=${package%%==*}
    record=$folder/${record//-/_}-${package##*==}.dist-info/RECORD
    [ -s "$record" ] || echo "$package"
  done
}

# The blocks of the requirement files for the packages named on standard input.
pinned() {
  awk 'NR == FNR {wanted[$1]; next} /^#/ {next} /^[a-z]/ {keep = ($1 in wanted)} keep' - <(cat "${requirements[@]}")
}

# The wheel is fetched for this Python where there is one, so that bench/peer_image.py can import it.
wheel_python() {
  local version there
  version=$("${pip[0]}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  there=$(sed -n 's/^# CPython: //p' "${requirements[0]}")
  if [[ " $there " == *" $version "* ]]; then echo "$version"; else echo 3.11; fi
}

# Both while they are unpacked: the packed files are there as well.
check_free_space() {  # PACKAGES
  local free_gb needed_gb=0 what=''
  free_gb=$(df -Pk "$store" | awk 'NR == 2 {print int($4 / 1048576)}')
  if [[ $1 == *torch==* ]]; then needed_gb=4 what=LibTorch; fi
  if [[ $1 == *cudnn* ]]; then needed_gb=$((needed_gb + 5)) what="${what:+$what with }the CUDA libraries"; fi
  [ "$free_gb" -ge "$needed_gb" ] ||
    die "$store has $free_gb GB free, but $what needs $needed_gb GB while it is unpacked." \
      "Set MULTICARD_CACHE to a folder with more room."
}

fetch_wheels() {
  local platform arguments=()
  check_free_space "$1"
  find_pip "$staging"
  for platform in manylinux_2_{28,27,26,25,24,18,17} manylinux2014 manylinux2010 manylinux1; do
    arguments+=(--platform "${platform}_x86_64")
  done
  mkdir -p "$staging/tmp" "$staging/part"
  pinned <<<"$1" >"$staging/requirements.txt"
  TMPDIR=$staging/tmp PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 with_ticker "$staging" \
    "${pip[@]}" --quiet --disable-pip-version-check install --no-cache-dir --no-deps --require-hashes --no-compile \
    --only-binary=:all: --implementation cp --python-version "$(wheel_python)" "${arguments[@]}" \
    --target "$staging/part" -r "$staging/requirements.txt" >&2 ||
    die "pip could not fetch LibTorch (its message is above). Check the network and pip's settings and start again."
}

install_libtorch() {
  local missing wrong
  { mkdir -p "$store" 2>/dev/null && [ -w "$store" ]; } ||
    die "LibTorch cannot be installed into $store (it cannot be written to) ${other_store:-Set MULTICARD_CACHE.}"
  exec 9>"$store/.libtorch.lock"
  if ! flock -n 9; then
    say "      another setup is installing LibTorch: waiting for it"
    flock 9
  fi
  if libtorch_is_complete; then return; fi
  # Left over by an interrupted setup; we hold the lock.
  find "$store" -maxdepth 1 -type d -name '.libtorch.*' -exec rm -rf {} +
  if [ -e "$folder" ] && ! wrong=$(python3 "$root/scripts/wheel_records.py" "$folder" --hash); then
    say "      $folder is incomplete (${wrong%%$'\n'*}): it is fetched again"
    rm -rf "$folder"
  fi
  missing=$(missing_wheels)
  if [ -n "$missing" ]; then
    say "      fetching $(echo "$missing" | paste -sd' ')"
    if [[ $missing == *torch==* ]]; then say "      (LibTorch: 530 MB to fetch, 1.5 GB unpacked: a minute or more)"; fi
    if [[ $missing == *cudnn* ]]; then say "      (CUDA libraries: 2.4 GB unpacked: a minute or more)"; fi
    staging=$(mktemp -d "$store/.libtorch.XXXXXX")
    trap 'rm -rf "$staging"' EXIT
    fetch_wheels "$missing"
    if [ -e "$folder" ]; then cp -al "$staging/part/." "$folder/"; else mv "$staging/part" "$folder"; fi
    wrong=$(python3 "$root/scripts/wheel_records.py" "$folder" --hash) ||
      die "LibTorch is damaged after its installation: $wrong"
  fi
  wanted_packages | cat - "$stamp" 2>/dev/null | sort -u >"$folder/.stamp" || true
  mv "$folder/.stamp" "$stamp"
  flock -u 9
}

# fetch_libtorch STEP OF: installs what use_libtorch has named, unless it is there.
fetch_libtorch() {
  [ "$(uname -m)" = x86_64 ] ||
    die "The LibTorch wheel is for x86-64 only: set TORCH_ROOT to a LibTorch $torch_version for $(uname -m)."
  if libtorch_is_complete; then
    step "$1" "$2" "LibTorch: already installed ($folder)"
    return
  fi
  step "$1" "$2" "LibTorch: installing into $folder"
  install_libtorch
}
