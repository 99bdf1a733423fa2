# Which LibTorch: sets TORCH_ROOT, the folder that holds include/ and lib/, and MULTICARD_TORCH_VERSION.
#   1. -DTORCH_ROOT, else TORCH_ROOT of the environment where it has changed since the last configuration, else what
#      either of them named for an earlier one
#   2. of those that scripts/setup.sh fetches the version -DMULTICARD_LIBTORCH, else MULTICARD_LIBTORCH of the
#      environment, else the one that the source tree was set up with, else the default
# The second is decided at each configuration: a build folder whose version has changed compiles everything again, since
# the include folder of every compilation has changed.
set(_multicard_oldest_torch 2.11)
set(_multicard_newest_torch 2.15)
set(MULTICARD_LIBTORCH "" CACHE STRING "Version of LibTorch, one that scripts/setup.sh has fetched")

if(DEFINED ENV{MULTICARD_CACHE})
  set(_multicard_cache $ENV{MULTICARD_CACHE})
else()
  set(_multicard_cache $ENV{HOME}/.cache/multicard)
endif()

# The LibTorch that scripts/setup.sh fetches for this source tree.
function(_multicard_fetched_torch result)
  set(source ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..)
  set(remembered ${source}/build/libtorch-version)
  set(version ${MULTICARD_LIBTORCH})
  if(NOT version)
    set(version $ENV{MULTICARD_LIBTORCH})
  endif()
  if(NOT version AND EXISTS ${remembered})
    file(STRINGS ${remembered} version LIMIT_COUNT 1)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${remembered})
  endif()
  if(NOT version)
    file(STRINGS ${source}/scripts/libtorch/default version LIMIT_COUNT 1)
  endif()
  set(${result} ${_multicard_cache}/libtorch-${version}/torch PARENT_SCOPE)
endfunction()

get_property(_help CACHE TORCH_ROOT PROPERTY HELPSTRING)
set(_torch_root_help "LibTorch folder (holds include/ and lib/)")
# CMake gives an entry of the command line a help text of its own; the one below takes its place in the cache.
if(DEFINED ENV{TORCH_ROOT} AND (NOT TORCH_ROOT OR _help STREQUAL _torch_root_help)
    AND NOT "$ENV{TORCH_ROOT}" STREQUAL "${MULTICARD_ENVIRONMENT_TORCH_ROOT}")
  if(TORCH_ROOT AND NOT TORCH_ROOT STREQUAL "$ENV{TORCH_ROOT}")
    message(STATUS "TORCH_ROOT of the environment, $ENV{TORCH_ROOT}, replaces ${TORCH_ROOT}")
  endif()
  set(TORCH_ROOT $ENV{TORCH_ROOT})
endif()
set(MULTICARD_ENVIRONMENT_TORCH_ROOT "$ENV{TORCH_ROOT}" CACHE INTERNAL "TORCH_ROOT of the environment when configured")
if(NOT DEFINED MULTICARD_FETCHED_TORCH_ROOT AND _help STREQUAL _torch_root_help)
  # What build folders configured by earlier versions of this project have taken.
  set(MULTICARD_FETCHED_TORCH_ROOT ${_multicard_cache}/libtorch-2.11.0/torch)
endif()
if(NOT TORCH_ROOT OR TORCH_ROOT STREQUAL "${MULTICARD_FETCHED_TORCH_ROOT}")
  _multicard_fetched_torch(TORCH_ROOT)
  set(MULTICARD_FETCHED_TORCH_ROOT ${TORCH_ROOT} CACHE INTERNAL "TORCH_ROOT that was not set by the user")
endif()
set(TORCH_ROOT ${TORCH_ROOT} CACHE PATH ${_torch_root_help} FORCE)

set(_torch_version_header ${TORCH_ROOT}/include/torch/headeronly/version.h)
if(NOT EXISTS ${_torch_version_header})
  message(FATAL_ERROR "No LibTorch at TORCH_ROOT=${TORCH_ROOT}: run scripts/setup.sh (for a version of "
    "MULTICARD_LIBTORCH: MULTICARD_LIBTORCH=VERSION scripts/setup.sh), or set TORCH_ROOT to the folder of a LibTorch "
    "${_multicard_oldest_torch} to ${_multicard_newest_torch}.")
endif()
file(STRINGS ${_torch_version_header} _version REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]" "" _version "${_version}")
list(JOIN _version "." _version)
set(MULTICARD_TORCH_VERSION ${_version} CACHE INTERNAL "Version of the LibTorch in TORCH_ROOT")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _version ${MULTICARD_TORCH_VERSION})
if(_version VERSION_LESS _multicard_oldest_torch)
  message(FATAL_ERROR "LibTorch in ${TORCH_ROOT} is ${MULTICARD_TORCH_VERSION}: ${_multicard_oldest_torch} to "
    "${_multicard_newest_torch} are supported. Run scripts/setup.sh without TORCH_ROOT, or set it to one of these.")
elseif(_version VERSION_GREATER _multicard_newest_torch)
  message(WARNING "LibTorch in ${TORCH_ROOT} is ${MULTICARD_TORCH_VERSION}: multicard is tested with "
    "${_multicard_oldest_torch} to ${_multicard_newest_torch}.")
endif()
