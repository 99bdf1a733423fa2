# shellcheck shell=bash
# The system packages multicard needs, and how to tell on other systems whether they are there. Sourced by setup.sh.

debian_packages() {  # DISTRIBUTION
  local jpeg=libjpeg62-turbo-dev
  if [ "$1" = ubuntu ]; then jpeg=libjpeg-turbo8-dev; fi
  echo g++ cmake ninja-build ccache libopenmpi-dev openmpi-bin libhdf5-openmpi-dev hdf5-tools libyaml-cpp-dev \
    nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev libssl-dev libpcre2-dev libutf8proc-dev libqhull-dev \
    libeigen3-dev "$jpeg" libpng-dev zlib1g-dev libdeflate-dev libsimdjson-dev gnuplot-nox \
    libgtest-dev git ca-certificates python3 python3-pip
}
debian_demo_packages() { echo dataset-fashion-mnist; }
debian_test_packages() {  # DISTRIBUTION
  local browser="chromium fonts-dejavu-core"
  if [ "$1" = ubuntu ]; then browser=""; fi  # its package installs a snap, which containers cannot
  # shellcheck disable=SC2086  # names
  echo $browser clang-format clang-tidy shellcheck dataset-fashion-mnist slurmctld slurmd slurm-client munge iproute2 \
    iperf3 util-linux coinor-libcbc-dev python3-h5py python3-jsonschema python3-yaml nodejs lua5.3 lua-filesystem \
    lua-json lua-posix lua-term tcl8.6 tcl groff zsh fish
}
# Unpacked into the cache, not installed: the first two exclude each other, and would change everyone's shells; the
# third, of which tests use promtool, would start a server.
debian_unpacked_packages() { echo lmod environment-modules prometheus; }

missing_debian_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -x 'install ok installed' >/dev/null || echo "$package"
  done
}

# One line a dependency: how to check it | what it is | Debian | Fedora | Spack. `p` asks for a program, `h` for a C++
# header.
dependencies() {
  cat <<'TABLE'
p g++|C++20 compiler (g++ 12 or newer)|g++|gcc-c++|gcc
p cmake|CMake 3.25 or newer|cmake|cmake|cmake
p ninja|Ninja|ninja-build|ninja-build|ninja
p git|Git|git|git|git
p python3|Python 3 (its pip fetches LibTorch; not used at run time)|python3|python3|python
p mpicc|Open MPI compiler wrapper|libopenmpi-dev|openmpi-devel|openmpi
p mpirun|Open MPI launcher|openmpi-bin|openmpi|openmpi
p h5dump|HDF5 tools|hdf5-tools|hdf5|hdf5+mpi
p gnuplot|gnuplot (plots of multicard-post)|gnuplot-nox|gnuplot-minimal|gnuplot
h hdf5.h|HDF5 built with the same MPI|libhdf5-openmpi-dev|hdf5-openmpi-devel|hdf5+mpi
h yaml-cpp/yaml.h|yaml-cpp|libyaml-cpp-dev|yaml-cpp-devel|yaml-cpp
h nlohmann/json.hpp|nlohmann-json|nlohmann-json3-dev|json-devel|nlohmann-json
h CLI/CLI.hpp|CLI11|libcli11-dev|cli11-devel|cli11
h spdlog/spdlog.h|spdlog|libspdlog-dev|spdlog-devel|spdlog
h fmt/format.h|fmt|libfmt-dev|fmt-devel|fmt
h openssl/sha.h|OpenSSL (sha256)|libssl-dev|openssl-devel|openssl
h pcre2posix.h|PCRE2|libpcre2-dev|pcre2-devel|pcre2+jit
h utf8proc.h|utf8proc|libutf8proc-dev|utf8proc-devel|utf8proc
h libqhull_r/qhull_ra.h|Qhull (Delaunay triangulation)|libqhull-dev|qhull-devel|qhull
h jpeglib.h|libjpeg-turbo|libjpeg-dev|libjpeg-turbo-devel|libjpeg-turbo
h png.h|libpng|libpng-dev|libpng-devel|libpng
h zlib.h|zlib|zlib1g-dev|zlib-devel|zlib-ng+compat
h libdeflate.h|libdeflate|libdeflate-dev|libdeflate-devel|libdeflate
h simdjson.h|simdjson|libsimdjson-dev|simdjson-devel|simdjson
h Eigen/Core|Eigen 3.4|libeigen3-dev|eigen3-devel|eigen
h gtest/gtest.h|GoogleTest (tests only)|libgtest-dev|gtest-devel|googletest
TABLE
}

header_found() {
  local flags="" folder prefix
  for folder in ${CMAKE_PREFIX_PATH:+${CMAKE_PREFIX_PATH//[:;]/ }} ${HDF5_ROOT:-} ${HDF5_DIR:-}; do
    flags+=" -I$folder/include"
  done
  for prefix in /usr/include/hdf5/openmpi /usr/include/openmpi-x86_64; do
    if [ -d "$prefix" ]; then flags+=" -I$prefix"; fi
  done
  local libraries="fmt spdlog yaml-cpp libpng eigen3"
  # shellcheck disable=SC2086 # a list
  if have pkg-config; then flags+=" $(pkg-config --silence-errors --cflags $libraries || true)"; fi
  if have mpicc; then flags+=" $(mpicc --showme:compile 2>/dev/null || true)"; fi
  # shellcheck disable=SC2086  # the flags are words
  printf '#include <cstdio>\n#include <%s>\n' "$1" | g++ -std=c++20 -E -x c++ $flags - >/dev/null 2>&1
}

# Prints the rows of the table that were not found on this machine.
missing_dependencies() {
  local kind name
  dependencies | while IFS= read -r row; do
    kind=${row%% *}
    name=${row#* }
    name=${name%%|*}
    case $kind in
      p) have "$name" || echo "$row" ;;
      h) header_found "$name" || echo "$row" ;;
    esac
  done
}

describe_missing() {
  printf '  %-52s %-22s %-22s %s\n' "dependency" "Debian, Ubuntu" "Fedora, RHEL (EPEL)" "Spack"
  local check what debian fedora spack
  while IFS='|' read -r check what debian fedora spack; do
    printf '  %-52s %-22s %-22s %s\n' "$what [${check#* }]" "$debian" "$fedora" "$spack"
  done
}
