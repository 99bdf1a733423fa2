# LibTorch from the PyPI wheel (or a libtorch zip), without find_package(Torch), which asks for nvcc and imports torch.
#   TORCH_ROOT       the folder that holds include/ and lib/ (TorchRoot.cmake)
#   MULTICARD_CUDA   AUTO | ON | OFF
#   NCCL_ROOT        looked at first, then the NCCL next to LibTorch, the CUDA toolkit's and the system's
# Gives multicard_torch (tensors, autograd, CPU kernels) and, with CUDA, multicard_torch_cuda. MULTICARD_WITH_CUDA is 0
# or 1.
include(TorchRoot)

# Not cached: the next TORCH_ROOT has libraries of its own.
function(_multicard_torch_library name)
  unset(MULTICARD_LIB_${name} CACHE)  # of build folders configured by earlier versions
  find_library(MULTICARD_LIB_${name} ${name} PATHS ${TORCH_ROOT}/lib NO_DEFAULT_PATH NO_CACHE REQUIRED)
  set(MULTICARD_LIB_${name} ${MULTICARD_LIB_${name}} PARENT_SCOPE)
endfunction()
foreach(library c10 torch_cpu)
  _multicard_torch_library(${library})
endforeach()

add_library(multicard_torch INTERFACE)
target_include_directories(multicard_torch SYSTEM INTERFACE
  ${TORCH_ROOT}/include ${TORCH_ROOT}/include/torch/csrc/api/include)
# LibTorch's include folder holds its own fmt, newer than the system's library, which is found first.
add_library(multicard_torch_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/torch_fmt.cpp)
target_include_directories(multicard_torch_fmt SYSTEM PRIVATE ${TORCH_ROOT}/include)
# The wheel's libraries need CUDA libraries that are found at run time; DT_RPATH (not RUNPATH) is inherited by them.
target_link_options(multicard_torch INTERFACE LINKER:--allow-shlib-undefined LINKER:--disable-new-dtags
  LINKER:--undefined=mkl_serv_intel_cpu_true)
add_library(multicard_mkl_vendor STATIC ${CMAKE_CURRENT_LIST_DIR}/mkl_vendor.cpp)
# libtorch_cpu exports parts of libstdc++ (std::filesystem) that must not be used: libstdc++ comes first in the search
# order.
target_link_libraries(multicard_torch INTERFACE
  -Wl,--push-state,--no-as-needed -lstdc++ -Wl,--pop-state multicard_mkl_vendor ${MULTICARD_LIB_torch_cpu}
  ${MULTICARD_LIB_c10} multicard_torch_fmt)

include(GpuLibraries)
get_filename_component(_multicard_wheels ${TORCH_ROOT}/../nvidia ABSOLUTE)  # the CUDA libraries next to LibTorch
set(MULTICARD_WITH_CUDA 0)
string(TOUPPER "${MULTICARD_CUDA}" _gpu_path)
if(_gpu_path MATCHES "^(1|TRUE|YES|Y)$")
  set(_gpu_path ON)
elseif(_gpu_path MATCHES "^(0|FALSE|NO|N)$")
  set(_gpu_path OFF)
elseif(_gpu_path STREQUAL "")
  set(_gpu_path AUTO)
elseif(NOT _gpu_path MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "MULTICARD_CUDA=${MULTICARD_CUDA} is not one of AUTO, ON and OFF.")
endif()
if(NOT _gpu_path STREQUAL OFF)
  multicard_torch_cuda_major(${TORCH_ROOT} _torch_cuda_major)
  set(_nccl_root ${NCCL_ROOT})
  if(NOT _nccl_root)
    set(_nccl_root $ENV{NCCL_ROOT})
  endif()
  multicard_find_cuda(${TORCH_ROOT} MULTICARD_TOOLKIT)
  if(MULTICARD_TOOLKIT_FOUND)
    list(GET MULTICARD_TOOLKIT_INCLUDE_DIRS 0 _toolkit)
    get_filename_component(_toolkit ${_toolkit} DIRECTORY)
    multicard_find_nccl(MULTICARD_NCCL ${_nccl_root} ${_multicard_wheels}/nccl ${_toolkit})
    if(_nccl_root AND NOT MULTICARD_NCCL_FOLDER STREQUAL _nccl_root)
      message(WARNING "NCCL_ROOT=${_nccl_root} holds no NCCL (include/nccl.h and lib/libnccl.so.2).")
    endif()
  endif()
  if(NOT _torch_cuda_major)
    set(_no_gpu_path "LibTorch in ${TORCH_ROOT} is built without CUDA: set TORCH_ROOT to one with it")
  elseif(NOT MULTICARD_TOOLKIT_FOUND)
    string(CONCAT _no_gpu_path "no CUDA ${_torch_cuda_major} toolkit was found: set CUDAToolkit_ROOT, or run "
      "scripts/setup.sh --gpu")
  elseif(NOT MULTICARD_NCCL_FOUND)
    set(_no_gpu_path "no NCCL (nccl.h, libnccl.so.2) was found: set NCCL_ROOT, or run scripts/setup.sh --gpu")
  else()
    multicard_check_cuda_major(
      ${MULTICARD_TOOLKIT_VERSION} ${MULTICARD_TOOLKIT_SOURCE} ${_torch_cuda_major} ${TORCH_ROOT})
    multicard_check_nccl_version(
      "${MULTICARD_NCCL_VERSION}" ${MULTICARD_NCCL_INCLUDE_DIR}/nccl.h ${MULTICARD_TORCH_VERSION})
    message(STATUS "CUDA ${MULTICARD_TOOLKIT_VERSION} (${MULTICARD_TOOLKIT_SOURCE}), "
      "NCCL ${MULTICARD_NCCL_VERSION} (${MULTICARD_NCCL_LIBRARY})")
    set(MULTICARD_WITH_CUDA 1)
  endif()
  if(NOT MULTICARD_WITH_CUDA AND _gpu_path STREQUAL ON)
    message(FATAL_ERROR "MULTICARD_CUDA=ON, but ${_no_gpu_path}.")
  elseif(NOT MULTICARD_WITH_CUDA)
    message(STATUS "No GPU path: ${_no_gpu_path}")
  endif()
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
  # NCCL is loaded when it is needed (modules/device/NcclLibrary_cuda.cpp): without it the program can still say so.
  add_library(multicard_nccl INTERFACE)
  target_include_directories(multicard_nccl SYSTEM INTERFACE ${MULTICARD_NCCL_INCLUDE_DIR})
  get_filename_component(_nccl_folder ${MULTICARD_NCCL_LIBRARY} DIRECTORY)
  # A CUDA runtime serves programs of older ones of its major version, not of newer ones.
  multicard_cuda_next_to_torch(${TORCH_ROOT} _runtime)
  if(_runtime VERSION_GREATER MULTICARD_TOOLKIT_VERSION)
    list(APPEND _multicard_rpath ${_multicard_wheels}/cu${_torch_cuda_major}/lib)
  endif()
  list(APPEND _multicard_rpath ${_nccl_folder} ${MULTICARD_TOOLKIT_LIBRARY_DIR})
  # The system's own folders are searched anyway, and after all others.
  list(REMOVE_ITEM _multicard_rpath /lib /usr/lib /lib64 /usr/lib64 /lib/${CMAKE_LIBRARY_ARCHITECTURE}
    /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
# libtorch_cpu itself needs the CUDA runtime and CUPTI: small wheels that torch depends on (scripts/setup.sh).
file(GLOB _wheel_folders ${_multicard_wheels}/*/lib)
list(APPEND _multicard_rpath ${_wheel_folders})
list(REMOVE_DUPLICATES _multicard_rpath)
list(APPEND CMAKE_BUILD_RPATH ${_multicard_rpath})
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # Install.cmake takes out again what is found otherwise
