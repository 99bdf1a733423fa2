# LibTorch from the PyPI wheel (or a libtorch zip), without find_package(Torch): no FindCUDA, no nvcc, no import of torch.
#   TORCH_ROOT       the folder that holds include/ and lib/
#   MULTICARD_CUDA   AUTO | ON | OFF
# Gives multicard_torch (tensors, autograd, CPU kernels) and, with CUDA, multicard_torch_cuda; MULTICARD_WITH_CUDA is 0 or 1.
if(DEFINED ENV{MULTICARD_CACHE})
  set(_multicard_cache $ENV{MULTICARD_CACHE})
else()
  set(_multicard_cache $ENV{HOME}/.cache/multicard)
endif()
if(NOT TORCH_ROOT AND DEFINED ENV{TORCH_ROOT})
  set(TORCH_ROOT $ENV{TORCH_ROOT})
endif()
if(NOT TORCH_ROOT)
  set(TORCH_ROOT ${_multicard_cache}/libtorch-2.11.0/torch)
endif()
set(TORCH_ROOT ${TORCH_ROOT} CACHE PATH "LibTorch folder (holds include/ and lib/)")
set(_torch_version_header ${TORCH_ROOT}/include/torch/headeronly/version.h)
if(NOT EXISTS ${_torch_version_header})
  message(FATAL_ERROR "No LibTorch at TORCH_ROOT=${TORCH_ROOT}: run scripts/setup.sh, or set TORCH_ROOT to a LibTorch 2.11 folder.")
endif()
file(STRINGS ${_torch_version_header} _version REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]" "" _version "${_version}")
list(JOIN _version "." MULTICARD_TORCH_VERSION)

function(_multicard_torch_library name)
  find_library(MULTICARD_LIB_${name} ${name} PATHS ${TORCH_ROOT}/lib NO_DEFAULT_PATH REQUIRED)
  set(MULTICARD_LIB_${name} ${MULTICARD_LIB_${name}} PARENT_SCOPE)
endfunction()
foreach(library c10 torch_cpu)
  _multicard_torch_library(${library})
endforeach()

add_library(multicard_torch INTERFACE)
target_include_directories(multicard_torch SYSTEM INTERFACE
  ${TORCH_ROOT}/include ${TORCH_ROOT}/include/torch/csrc/api/include)
# LibTorch's include folder holds its own fmt, newer than the system's library: use it header-only.
target_compile_definitions(multicard_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1 FMT_HEADER_ONLY)
# The wheel's libraries need CUDA libraries that are found at run time; DT_RPATH (not RUNPATH) is inherited by them.
target_link_options(multicard_torch INTERFACE LINKER:--allow-shlib-undefined LINKER:--disable-new-dtags)
# libtorch_cpu exports parts of libstdc++ (std::filesystem) that must not be used: libstdc++ comes first in the search order.
target_link_libraries(multicard_torch INTERFACE
  -Wl,--push-state,--no-as-needed -lstdc++ -Wl,--pop-state ${MULTICARD_LIB_torch_cpu} ${MULTICARD_LIB_c10})

if(NOT MULTICARD_CUDA STREQUAL OFF)
  find_package(CUDAToolkit QUIET)
endif()
set(MULTICARD_WITH_CUDA 0)
if(CUDAToolkit_FOUND)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} $ENV{NCCL_ROOT}/include)
  find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR} $ENV{NCCL_ROOT}/lib)
  if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
    set(MULTICARD_WITH_CUDA 1)
  elseif(MULTICARD_CUDA STREQUAL ON)
    message(FATAL_ERROR "MULTICARD_CUDA=ON, but NCCL (nccl.h, libnccl.so.2) was not found: set NCCL_ROOT.")
  endif()
elseif(MULTICARD_CUDA STREQUAL ON)
  message(FATAL_ERROR "MULTICARD_CUDA=ON, but no CUDA toolkit was found: set CUDAToolkit_ROOT.")
endif()

set(_multicard_rpath ${TORCH_ROOT}/lib)
if(MULTICARD_WITH_CUDA)
  foreach(library c10_cuda torch_cuda)
    _multicard_torch_library(${library})
  endforeach()
  add_library(multicard_torch_cuda INTERFACE)
  # Programs that name no symbol of libtorch_cuda load it themselves where there is a GPU (modules/device/Gpu_cuda.cpp).
  # One item, because CMake drops repeated flags.
  target_link_libraries(multicard_torch_cuda INTERFACE multicard_torch
    -Wl,--push-state,--as-needed,${MULTICARD_LIB_torch_cuda},--pop-state ${MULTICARD_LIB_c10_cuda} CUDA::cudart)
  add_library(multicard_nccl INTERFACE)
  target_include_directories(multicard_nccl SYSTEM INTERFACE ${NCCL_INCLUDE_DIR})
  target_link_libraries(multicard_nccl INTERFACE ${NCCL_LIBRARY})
  list(APPEND _multicard_rpath ${CUDAToolkit_LIBRARY_DIR})
else()
  # libtorch_cpu itself needs the CUDA runtime and CUPTI: small wheels beside torch (scripts/setup.sh).
  list(APPEND _multicard_rpath ${TORCH_ROOT}/../nvidia/cu13/lib)
endif()
list(APPEND CMAKE_BUILD_RPATH ${_multicard_rpath})
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;${_multicard_rpath}")
