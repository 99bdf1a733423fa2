#!/usr/bin/env bash
# Packs a build into one folder that runs elsewhere, without packages of the system it was built on.
#
# usage: scripts/bundle.sh [-o FOLDER|FILE.tar.xz|FILE.tar.gz] [--build BUILD-FOLDER]
#   -o       what to write (default build/multicard-linux-x86_64.tar.xz); a FOLDER must be new or an earlier bundle
#   --build  the build to pack (default build/release)
#
# In it, without symbols: multicard, multicard-post, GPU tests and their data, Open MPI (launcher, daemons, plugins,
# help), PMIx, parallel HDF5 and all other shared libraries they load, decks, batch scripts and benchmarks, and the
# first 20,000 images of Fashion-MNIST where it is here (FASHION_MNIST=FOLDER), so that scripts/gpu_day.sh needs no
# network; without it the benchmarks make random images. Not in it: LibTorch and CUDA (env.sh is told where they are,
# and asks for the LibTorch that the build was made with, 2.15 or another), the C and C++ runtime (glibc 2.36 or newer
# and libstdc++ of g++ 12 must be there), gnuplot, and the plugins of InfiniBand and Omni-Path: a bundle talks through
# shared memory and TCP, and NCCL through what it finds.
# On the target:  TORCH_ROOT=... MULTICARD_CUDA_LIB=... source FOLDER/env.sh; scripts/check_bundle.sh tries it out.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

output=$root/build/multicard-linux-$(uname -m).tar.xz
build=$root/build/release
while [ $# -gt 0 ]; do
  case $1 in
    -o | --build) needs_value "$1" $# ;;&
    -o) output=$(realpath -m "$2"); shift ;;
    --build) build=$(realpath -m "$2"); shift ;;
    -h | --help) usage "$0"; exit 0 ;;
    *) say "$program: unknown option $1 (see --help)"; exit 2 ;;
  esac
  shift
done
for needed in multicard multicard-post; do
  [ -x "$build/bin/$needed" ] || die "$build/bin/$needed is missing: scripts/build.sh"
done
torch_version=$(sed -n 's/^MULTICARD_TORCH_VERSION:INTERNAL=//p' "$build/CMakeCache.txt")
[ -n "$torch_version" ] || die "$build was configured by an earlier version: scripts/build.sh"
gpu_tests=$(ctest --test-dir "$build" -N -L '^gpu$' 2>/dev/null) || gpu_tests=''
if [[ $gpu_tests == *"Total Tests: "[1-9]* ]] && [ ! -x "$build/tests/test_device_gpu" ]; then
  die "$build has no tests, which a bundle with the GPU path holds: scripts/build.sh release --target all tests"
fi
ompi_info --version 2>/dev/null | grep 'Open MPI' >/dev/null || die "the MPI here is not Open MPI (no ompi_info)"

case $output in
  *.tar.xz | *.tar.gz | *.tgz)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    bundle=$work/multicard
    ;;
  *)
    bundle=$output
    if [ -e "$bundle" ]; then
      [ -e "$bundle/.multicard-bundle" ] || die "$bundle exists and is not a bundle of multicard: name another folder"
      rm -rf "$bundle"
    fi
    ;;
esac
mkdir -p "$bundle"/{bin,lib/openmpi,share,etc,tests}
touch "$bundle/.multicard-bundle"

# ---- programs --------------------------------------------------------------------------------------------------------
# Searches libraries in its own folder first. The path is DT_RPATH, which the libraries it loads inherit.
set_rpath() {  # FILE PATH
  local old
  old=$(readelf -d "$1" | sed -n 's/.*R\(UN\)\{0,1\}PATH).*\[\(.*\)\].*/\2/p' | head -1)
  [ -n "$old" ] || return 0
  printf 'file(RPATH_CHANGE FILE "%s" OLD_RPATH "%s" NEW_RPATH "%s")\n' "$1" "$old" "$2" >"$bundle/.rpath.cmake"
  cmake -P "$bundle/.rpath.cmake"
  rm "$bundle/.rpath.cmake"
}

copy_programs() {
  local name
  for name in multicard multicard-post; do
    cp -L "$build/bin/$name" "$bundle/bin/"
    # shellcheck disable=SC2016  # $ORIGIN is the loader's
    set_rpath "$bundle/bin/$name" '$ORIGIN/../lib'
  done
}

# The tests with the label gpu, with a CTestTestfile.cmake that names everything relative to itself.
copy_gpu_tests() {
  ctest --test-dir "$build" --show-only=json-v1 2>/dev/null | python3 "$root/scripts/bundle_tests.py" "$bundle/tests"
  local file
  for file in "$bundle"/tests/test_*; do
    # shellcheck disable=SC2016
    if [ -e "$file" ]; then set_rpath "$file" '$ORIGIN/../lib'; fi
  done
}

# What the GPU tests, the smallest language decks and the benchmarks' own trials read.
copy_test_data() {
  local name
  for name in oracles/mobilenet models/tinystories-656K; do
    mkdir -p "$bundle/tests/data/$(dirname "$name")"
    cp -r "$root/tests/data/$name" "$bundle/tests/data/$name"
  done
}

copy_images() {
  local source=${FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
  if [ -r "$source/train-images-idx3-ubyte.gz" ]; then
    python3 "$root/bench/idx_images.py" --first "$source" "$bundle/data/fashion-mnist"
  else
    say "      no Fashion-MNIST in $source: the benchmarks will make random images"
  fi
}

# No symbols; sections that need none. A library or program that strip does not know stays as it is.
strip_all() {
  find "$bundle" -type f \( -path '*/bin/*' -o -name '*.so*' -o -name 'test_*' \) -exec strip --strip-unneeded {} \; \
    2>/dev/null
}

# ---- Open MPI and PMIx -----------------------------------------------------------------------------------------------
mpi_path() { ompi_info --path "$1" --parsable | sed -n "s/^path:$1://p" | head -1; }

# Plugins of fabrics would bring their whole driver stack along; those of OpenSHMEM are not used.
is_left_out() {
  ldd "$1" | grep -E 'lib(psm|fabric|uc[tpsm]\.|ibverbs|rdmacm|infinipath|oshmem|mca_common_(ucx|ofi|verbs))' >/dev/null
}

copy_mpi() {
  local name plugin pmix
  for name in mpirun orted; do cp -L "$(readlink -f "$(command -v "$name")")" "$bundle/bin/$name"; done
  for plugin in "$(mpi_path pkglibdir)"/*.so; do
    is_left_out "$plugin" || cp -L "$plugin" "$bundle/lib/openmpi/"
  done
  cp -rL "$(mpi_path pkgdatadir)" "$bundle/share/openmpi"
  cp -L "$(mpi_path sysconfdir)"/*.conf "$bundle/etc/"
  # The PMIx library of the system, if Open MPI uses one; its plugins are in a folder next to it.
  pmix=$(ldd "$bundle"/lib/openmpi/mca_pmix_*.so | awk '/libpmix\.so/ {print $3; exit}')
  if [ -n "$pmix" ]; then
    pmix=$(dirname "$(readlink -f "$pmix")")
    mkdir -p "$bundle/pmix/lib"
    cp -rL "$pmix/pmix" "$bundle/pmix/lib/"
    if [ -d "$pmix/../share" ]; then cp -rL "$pmix/../share" "$bundle/pmix/"; fi
  fi
}

# ---- the shared libraries all of these load --------------------------------------------------------------------------
belongs_to_target() {
  case $1 in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libutil.so.* | libresolv.so.* | ld-linux*) ;;
    libstdc++.so.* | libgcc_s.so.* | libtorch* | libc10* | libgomp* | libcu[dbpfs]* | libcurand* | libnccl* | libnv*) ;;
    *) return 1 ;;
  esac
}

copy_libraries() {
  local library
  # The programs where they were built too: what they load from folders that only that search path names.
  {
    ldd "$build/bin/multicard" "$build/bin/multicard-post"
    find "$bundle" -type f \( -path '*/bin/*' -o -name '*.so*' -o -name 'test_*' \) -exec ldd {} +
  } 2>/dev/null |
    awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
    while IFS= read -r library; do
      if belongs_to_target "$(basename "$library")"; then continue; fi
      [ -e "$bundle/lib/$(basename "$library")" ] || cp -L "$library" "$bundle/lib/"
    done
}

# ---- everything else -------------------------------------------------------------------------------------------------
write_environment() {
  cat >"$bundle/env.sh" <<'ENV'
# shellcheck shell=bash
# What a shell needs to run this bundle of multicard:   TORCH_ROOT=... source env.sh
#   TORCH_ROOT          LibTorch @MINOR@ (the folder with lib/; default $MULTICARD_CACHE/libtorch-@VERSION@/torch)
#   MULTICARD_CUDA_LIB  folder of the CUDA 13, cuDNN 9 and NCCL libraries, where they are not next to LibTorch, in
#                       ../nvidia/*/lib, nor in the toolkit of CUDA_HOME (default /usr/local/cuda)
# lib/ goes on LD_LIBRARY_PATH, where other programs of this shell see it too: use a shell of its own.
_bundle=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
export TORCH_ROOT="${TORCH_ROOT:-${MULTICARD_CACHE:-$HOME/.cache/multicard}/libtorch-@VERSION@/torch}"
if [ ! -e "$TORCH_ROOT/lib/libtorch_cpu.so" ]; then
  echo "env.sh: no LibTorch at TORCH_ROOT=$TORCH_ROOT (lib/libtorch_cpu.so)" >&2
fi
_version=$(awk '/define TORCH_VERSION_(MAJOR|MINOR) / {v = v sep $3; sep = "."} END {print v}' \
  "$TORCH_ROOT/include/torch/headeronly/version.h" 2>/dev/null)
if [ "${_version:-@MINOR@}" != @MINOR@ ]; then
  echo "env.sh: TORCH_ROOT=$TORCH_ROOT is LibTorch $_version, but this bundle was built with @MINOR@: set TORCH_ROOT" \
    "to such a one, or pack a build with $_version (scripts/setup.sh --libtorch $_version)" >&2
fi
export PATH="$_bundle/bin:$PATH"
_libraries=$_bundle/lib${MULTICARD_CUDA_LIB:+:$MULTICARD_CUDA_LIB}:$TORCH_ROOT/lib
for _folder in "$TORCH_ROOT"/../nvidia/*/lib "${CUDA_HOME:-/usr/local/cuda}/lib64"; do
  if [ -d "$_folder" ]; then _libraries=$_libraries:$_folder; fi
done
export LD_LIBRARY_PATH="$_libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# Where Open MPI and PMIx find their plugins and texts, instead of where they were built for.
export OPAL_PREFIX="$_bundle" OPAL_LIBDIR="$_bundle/lib" OPAL_PKGLIBDIR="$_bundle/lib/openmpi"
export OPAL_DATADIR="$_bundle/share" OPAL_PKGDATADIR="$_bundle/share/openmpi" OPAL_SYSCONFDIR="$_bundle/etc"
export PMIX_INSTALL_PREFIX="$_bundle/pmix" PMIX_MCA_gds="${PMIX_MCA_gds:-hash}"
export PMIX_MCA_pcompress_base_silence_warning=1
export MULTICARD_ROOT="${MULTICARD_ROOT:-$_bundle}" MULTICARD_BUILD="$_bundle" MULTICARD_SOURCE="$_bundle"
. "$_bundle/scripts/settings.sh"
unset _bundle _libraries _folder _version
ENV
  sed -i "s/@VERSION@/$torch_version/g; s/@MINOR@/${torch_version%.*}/g" "$bundle/env.sh"
  # The batch scripts source scripts/env.sh of MULTICARD_ROOT, the benchmarks also the others.
  mkdir -p "$bundle/scripts"
  cp "$root/scripts/env.sh" "$bundle/scripts/settings.sh"
  cp "$root"/scripts/{lib.sh,gpu_day.sh,peers.sh,setup_peers.sh} "$root"/scripts/llm-*peers-requirements.txt \
    "$bundle/scripts/"
  # shellcheck disable=SC2016
  printf '%s\n' '# shellcheck shell=bash' '. "$(dirname "${BASH_SOURCE[0]}")/../env.sh"' >"$bundle/scripts/env.sh"
}

step 1 4 "Programs and GPU tests from $build"
copy_programs
copy_gpu_tests
copy_test_data
copy_images
step 2 4 "Open MPI and PMIx"
copy_mpi
step 3 4 "Shared libraries"
copy_libraries
strip_all
write_environment
cp -r "$root/inputs" "$root/slurm" "$bundle/"
mkdir -p "$bundle/bench"
find "$root/bench" -maxdepth 1 -type f \( -name '*.sh' -o -name '*.py' \) -exec cp {} "$bundle/bench/" \;
for name in LICENSE README.md INSTALL.md; do if [ -e "$root/$name" ]; then cp "$root/$name" "$bundle/"; fi; done
mkdir -p "$bundle/docs"
cp "$root/docs/gpu.md" "$bundle/docs/"  # messages of the program name it
case $output in
  *.tar.xz | *.tar.gz | *.tgz)
    step 4 4 "Packing"
    mkdir -p "$(dirname "$output")"
    pack=(gzip)
    case $output in *.xz) pack=(xz -T0 -6) ;; esac
    tar -C "$work" -c multicard | "${pack[@]}" >"$output.part"
    mv "$output.part" "$output"
    say "      $(du -m "$output" | cut -f1) MB packed"
    ;;
  *) step 4 4 "Not packed: -o names a folder" ;;
esac
say "      $(find "$bundle/lib" -type f | wc -l) libraries and plugins, $(du -sh "$bundle" | cut -f1) unpacked"
echo "$output"
