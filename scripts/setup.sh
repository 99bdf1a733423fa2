#!/usr/bin/env bash
# Installs what multicard needs and is not there yet: system packages and LibTorch.
#
# usage: scripts/setup.sh [--libtorch VERSION] [--parquet] [--demo] [--test] [--gpu | --no-gpu] [--help]
#   --libtorch  this version, 2.11.0 to 2.15.0 (the default; scripts/libtorch/ holds a file for each; 2.14 is the newest
#            2.14.x). This source tree keeps to it: scripts/build.sh builds with it until another is named. With
#            MULTICARD_LIBTORCH=VERSION in the environment a script uses that one, for once
#   --parquet   also Arrow's libparquet (55 MB to fetch, 70 MB in $MULTICARD_CACHE/arrow-VERSION), with which the next
#            build can read data sets in Parquet
#   --demo   also the Fashion-MNIST package that scripts/demo.sh trains on
#   --test   also what scripts/test.sh can use: Slurm, clang-format, clang-tidy, shellcheck, Fashion-MNIST, libparquet,
#            Chromium
#   --gpu    also the CUDA libraries of the wheel (cuDNN, NCCL, cuBLAS, ... 2.4 GB). Where `nvidia-smi -L` lists a GPU
#            they are installed automatically; --no-gpu leaves them out, for a CUDA toolkit that has them all (NCCL
#            comes along where that of the toolkit is older than LibTorch's)
#
# Debian and Ubuntu: missing packages are installed with apt-get, as root or with passwordless sudo; otherwise the line
# to run is printed. Elsewhere every dependency is checked and missing ones are listed with their package names.
# LibTorch goes to $MULTICARD_CACHE/libtorch-VERSION (default ~/.cache/multicard); with TORCH_ROOT set that one is used.
# May be run any number of times, also by two at once.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/packages.sh
. "$root/scripts/packages.sh"

with_demo=no with_test=no with_parquet=no with_gpu=auto chosen=''
while [ $# -gt 0 ]; do
  case $1 in
    --libtorch) needs_value "$1" $#; chosen=$2; shift ;;
    --parquet) with_parquet=yes ;;
    --demo) with_demo=yes ;;
    --test) with_test=yes ;;
    --gpu) with_gpu=yes ;;
    --no-gpu) with_gpu=no ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
torch_version=$(libtorch_version "$chosen")

# ---- system packages -------------------------------------------------------------------------------------------------
distribution=other
if [ -r /etc/os-release ] && have apt-get && have dpkg-query; then
  case $(. /etc/os-release && echo " ${ID:-} ${ID_LIKE:-} ") in
    *" ubuntu "*) distribution=ubuntu ;;
    *" debian "*) distribution=debian ;;
  esac
fi

# How apt-get can be run here without a question: prints the prefix, or fails.
privilege() {
  if [ "$(id -u)" = 0 ]; then
    echo env
  elif have sudo && sudo -n true 2>/dev/null; then
    echo sudo -n env
  else
    return 1
  fi
}

apt_install() {
  local prefix
  prefix=$(privilege) || return 1
  say "      installing: $*"
  # shellcheck disable=SC2086  # the prefix is words
  if ! { $prefix DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600 update &&
    $prefix DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 install --no-install-recommends \
      -o Dpkg::Use-Pty=0 "$@"; } >/dev/null; then  # errors come on standard error
    die "apt-get could not install: $* (its message is above). Correct that and start again."
  fi
}

stop_with_apt_line() {
  say "System packages are missing, and this user may not install them. As root run:"
  say ""
  say "  apt-get update && apt-get install -y --no-install-recommends $*"
  say ""
  say "and start $program again."
  exit 3
}

stop_with_missing() {
  say "Not found on this system:"
  describe_missing <<<"$1" >&2
  say "Install or load them (module load, spack load; CMAKE_PREFIX_PATH and HDF5_ROOT are looked at) and start again;"
  say "INSTALL.md has a section for each kind of system."
  exit 3
}

require_packages() {  # the build's own dependencies: other sources than apt count as well
  local missing not_found
  mapfile -t missing < <(missing_debian_packages "$@")
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  if apt_install "${missing[@]}"; then return; fi
  not_found=$(missing_dependencies)
  if [ -n "$not_found" ]; then stop_with_apt_line "${missing[@]}"; fi
  say "      not from packages, but found: ${missing[*]}"
}

system_packages() {
  local missing
  if [ "$distribution" = other ]; then
    step 1 3 "System: looking for compilers and libraries"
    missing=$(missing_dependencies)
    if [ -n "$missing" ]; then stop_with_missing "$missing"; fi
    return
  fi
  # shellcheck disable=SC2046  # names without spaces
  set -- $(debian_packages "$distribution")
  step 1 3 "System packages ($distribution): $# needed, $(missing_debian_packages "$@" | wc -l) missing"
  require_packages "$@"
  if [ "$with_demo" = yes ]; then
    # shellcheck disable=SC2046
    mapfile -t missing < <(missing_debian_packages $(debian_demo_packages))
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}" || stop_with_apt_line "${missing[@]}"
  fi
  if [ "$with_test" = yes ]; then
    # shellcheck disable=SC2046
    mapfile -t missing < <(missing_debian_packages $(debian_test_packages "$distribution"))
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}" ||
      say "      WARNING: tests that need ${missing[*]} will be skipped (no permission to install them)"
  fi
}

check_tool_versions() {
  local cmake_version gcc_version
  cmake_version=$(cmake --version | awk 'NR == 1 {print $3}')
  gcc_version=$(g++ -dumpfullversion)
  printf '3.25\n%s\n' "$cmake_version" | sort -CV ||
    die "CMake $cmake_version is too old (3.25 is needed). A newer one: pip install cmake, your modules, or Spack."
  [ "${gcc_version%%.*}" -ge 12 ] || die "g++ $gcc_version is too old (12 is needed for C++20). Load a newer compiler."
  say "      cmake $cmake_version, g++ $gcc_version"
}

# ---- LibTorch --------------------------------------------------------------------------------------------------------
folder=$cache/libtorch-$torch_version
stamp=$folder/.multicard-complete
if [ "$with_gpu" = auto ]; then
  if [ "$(num_gpus)" -gt 0 ]; then with_gpu=yes; else with_gpu=no; fi
fi
requirements=("$root/scripts/libtorch/$torch_version.txt" "$root/scripts/libtorch/$torch_version-gpu.txt")

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
  free_gb=$(df -Pk "$cache" | awk 'NR == 2 {print int($4 / 1048576)}')
  if [[ $1 == *torch==* ]]; then needed_gb=4 what=LibTorch; fi
  if [[ $1 == *cudnn* ]]; then needed_gb=$((needed_gb + 5)) what="${what:+$what with }the CUDA libraries"; fi
  [ "$free_gb" -ge "$needed_gb" ] ||
    die "$cache has $free_gb GB free, but $what needs $needed_gb GB while it is unpacked." \
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
  mkdir -p "$cache"
  exec 9>"$cache/.libtorch.lock"
  if ! flock -n 9; then
    say "      another setup is installing LibTorch: waiting for it"
    flock 9
  fi
  if libtorch_is_complete; then return; fi
  # Left over by an interrupted setup; we hold the lock.
  find "$cache" -maxdepth 1 -type d -name '.libtorch.*' -exec rm -rf {} +
  if [ -e "$folder" ] && ! wrong=$(python3 "$root/scripts/wheel_records.py" "$folder" --hash); then
    say "      $folder is incomplete (${wrong%%$'\n'*}): it is fetched again"
    rm -rf "$folder"
  fi
  missing=$(missing_wheels)
  if [ -n "$missing" ]; then
    say "      fetching $(echo "$missing" | paste -sd' ')"
    if [[ $missing == *torch==* ]]; then say "      (LibTorch: 530 MB to fetch, 1.5 GB unpacked: a minute or more)"; fi
    if [[ $missing == *cudnn* ]]; then say "      (CUDA libraries: 2.4 GB unpacked: a minute or more)"; fi
    staging=$(mktemp -d "$cache/.libtorch.XXXXXX")
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

check_torch_root() {  # sets `found` to the version
  local header=$1/include/torch/headeronly/version.h
  if ! [ -r "$header" ] || ! [ -r "$1/lib/libtorch_cpu.so" ]; then
    die "$1 holds no LibTorch $torch_version (include/torch/headeronly/version.h or lib/libtorch_cpu.so is missing)."
  fi
  found=$(version_of_libtorch "$1")
  if ! libtorch_versions | grep -xF "$found" >/dev/null; then
    say "      WARNING: multicard is tested with LibTorch $(libtorch_versions | paste -sd' '); this is $found"
  fi
}

libtorch() {
  if [ -n "${TORCH_ROOT:-}" ]; then
    step 2 3 "LibTorch: TORCH_ROOT=$TORCH_ROOT is used"
    return
  fi
  [ "$(uname -m)" = x86_64 ] ||
    die "The LibTorch wheel is for x86-64 only: set TORCH_ROOT to a LibTorch $torch_version for $(uname -m)."
  if libtorch_is_complete; then
    step 2 3 "LibTorch: already installed ($folder)"
    return
  fi
  step 2 3 "LibTorch: installing into $folder"
  install_libtorch
}

# ---- libparquet ------------------------------------------------------------------------------------------------------
# The C++ libraries and headers out of the wheel of pyarrow, which brings them all.
fetch_arrow() {  # FOLDER
  local staging part=$1.part
  staging=$(mktemp -d "$cache/.arrow.XXXXXX")
  find_pip "$staging"
  awk '/^#/ {next} /^[a-z]/ {keep = /^pyarrow==/} keep' "$arrow_pin" >"$staging/requirements.txt"
  if ! PIP_ROOT_USER_ACTION=ignore PIP_BREAK_SYSTEM_PACKAGES=1 "${pip[@]}" --quiet --disable-pip-version-check \
    install --no-cache-dir --no-deps --require-hashes --no-compile --only-binary=:all: --implementation cp \
    --python-version 3.11 --platform manylinux_2_28_x86_64 --target "$staging/part" \
    -r "$staging/requirements.txt" >&2; then
    rm -rf "$staging"
    return 1
  fi
  rm -rf "$part"
  mkdir "$part"
  mv "$staging"/part/pyarrow/{include,libarrow.so.*,libparquet.so.*} "$part"
  cp "$staging"/part/pyarrow-*.dist-info/licenses/*.txt "$part"
  rm -rf "$staging" "$1"
  mv "$part" "$1"
}

libparquet() {
  local folder version
  arrow_pin=$root/scripts/llm-method-peers-requirements.txt
  version=$(sed -n 's/^pyarrow==\([0-9.]*\).*/\1/p' "$arrow_pin")
  folder=$cache/arrow-$version
  mkdir -p "$cache"
  exec 8>"$cache/.arrow.lock"
  flock 8
  find "$cache" -maxdepth 1 -type d -name '.arrow.*' -exec rm -rf {} +  # of an interrupted setup
  if [ -d "$folder" ]; then
    say "      libparquet: already installed ($folder)"
  elif fetch_arrow "$folder"; then
    say "      libparquet: Arrow $version installed into $folder"
  elif [ "$with_parquet" = yes ]; then
    die "pip could not fetch libparquet (its message is above). Check the network and pip's settings and start again."
  else
    say "      WARNING: libparquet could not be fetched: tests that read Parquet will be skipped"
  fi
  exec 8>&-
}

system_packages
check_tool_versions
libtorch
if [ "$with_parquet" = yes ] || [ "$with_test" = yes ]; then libparquet; fi
torch=${TORCH_ROOT:-$folder/torch}
check_torch_root "$torch"
if [ -n "$chosen" ]; then remember_libtorch "$torch_version"; fi
step 3 3 "Ready: LibTorch $found at $torch"
