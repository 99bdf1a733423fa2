# Finds the CUDA toolkit and the NCCL that fit a LibTorch; where what is there does not fit, stops and says how to fix
# it: one process must not load two CUDA runtimes, nor an NCCL older than the one that LibTorch calls.
#   multicard_torch_cuda_major(TORCH_ROOT RESULT)        the CUDA major version of LibTorch; empty: without CUDA
#   multicard_cuda_next_to_torch(TORCH_ROOT RESULT)      the version of the CUDA runtime next to it; empty: none
#   multicard_find_cuda(TORCH_ROOT RESULT_PREFIX)        _FOUND, _VERSION, _INCLUDE_DIRS, _LIBRARY_DIR, _SOURCE
#   multicard_find_nccl(RESULT_PREFIX FOLDER...)         _FOUND, _FOLDER, _VERSION, _INCLUDE_DIR, _LIBRARY
#   multicard_check_cuda_major(TOOLKIT_VERSION TOOLKIT TORCH_MAJOR TORCH_ROOT)
#   multicard_check_nccl_version(VERSION HEADER TORCH_VERSION)
# The last two end the configuration.

function(multicard_torch_cuda_major torch_root result)
  set(major "")
  if(EXISTS ${torch_root}/lib/libc10_cuda.so)
    # Its own list of needed libraries: libcudart.so.13, in some packages libcudart-d0da41ae.so.13.
    file(STRINGS ${torch_root}/lib/libc10_cuda.so needed REGEX "^libcudart(-[0-9a-f]+)?\\.so\\.[0-9]+$" LIMIT_COUNT 1)
    string(REGEX REPLACE ".*\\.so\\." "" major "${needed}")
  endif()
  set(${result} "${major}" PARENT_SCOPE)
endfunction()

function(multicard_cuda_next_to_torch torch_root result)
  set(version "")
  multicard_torch_cuda_major(${torch_root} major)
  set(header ${torch_root}/../nvidia/cu${major}/include/cuda.h)
  if(EXISTS ${header})
    file(STRINGS ${header} line REGEX "^#define CUDA_VERSION +[0-9]+" LIMIT_COUNT 1)
    string(REGEX REPLACE "[^0-9]" "" code "${line}")
    math(EXPR minor "${code} % 1000 / 10")
    set(version ${major}.${minor})
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# The header's NAME_MAJOR, NAME_MINOR, NAME_PATCH joined by dots; empty where it has none.
function(_multicard_version_in header name result)
  set(parts "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS ${header} line REGEX "^#define ${name}_${part} +[0-9]+" LIMIT_COUNT 1)
    if(line MATCHES "${name}_${part} +([0-9]+)")
      list(APPEND parts ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(JOIN parts "." version)
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# The CUDA toolkit of the system, else the headers and libraries that scripts/setup.sh --gpu puts next to LibTorch:
# these suffice but for the project's own kernels, which need nvcc.
macro(multicard_find_cuda torch_root prefix)
  find_package(CUDAToolkit QUIET)
  set(${prefix}_FOUND FALSE)
  if(CUDAToolkit_FOUND)
    set(${prefix}_FOUND TRUE)
    set(${prefix}_VERSION ${CUDAToolkit_VERSION})
    set(${prefix}_INCLUDE_DIRS ${CUDAToolkit_INCLUDE_DIRS})
    set(${prefix}_LIBRARY_DIR ${CUDAToolkit_LIBRARY_DIR})
    set(${prefix}_SOURCE ${CUDAToolkit_BIN_DIR})
  else()
    _multicard_find_cuda_next_to_torch(${torch_root} ${prefix})
  endif()
endmacro()

function(_multicard_find_cuda_next_to_torch torch_root prefix)
  multicard_torch_cuda_major(${torch_root} major)
  get_filename_component(folder "${torch_root}/../nvidia/cu${major}" ABSOLUTE)
  foreach(needed IN ITEMS include/cuda_runtime_api.h include/crt/host_defines.h include/nv/target include/cublas_v2.h
      include/cusparse.h include/nvtx3/nvToolsExt.h lib/libcudart.so.${major})
    if(NOT EXISTS ${folder}/${needed})
      return()
    endif()
  endforeach()
  multicard_cuda_next_to_torch(${torch_root} version)
  set(${prefix}_FOUND TRUE PARENT_SCOPE)
  set(${prefix}_VERSION ${version} PARENT_SCOPE)
  set(${prefix}_INCLUDE_DIRS ${folder}/include PARENT_SCOPE)
  set(${prefix}_LIBRARY_DIR ${folder}/lib PARENT_SCOPE)
  set(${prefix}_SOURCE ${folder} PARENT_SCOPE)
  if(NOT TARGET CUDA::cudart)
    add_library(CUDA::cudart SHARED IMPORTED)
    set_target_properties(CUDA::cudart PROPERTIES IMPORTED_LOCATION ${folder}/lib/libcudart.so.${major}
      IMPORTED_SONAME libcudart.so.${major} INTERFACE_INCLUDE_DIRECTORIES ${folder}/include)
  endif()
endfunction()

# Header and library from one place: the first of the folders (each with include/ and lib/ or lib64/) that has both,
# else where the system keeps its own.
function(multicard_find_nccl prefix)
  set(${prefix}_FOUND FALSE PARENT_SCOPE)
  set(suffixes lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
  find_path(system_header nccl.h NO_CACHE)
  if(system_header)
    get_filename_component(system "${system_header}" DIRECTORY)
  endif()
  foreach(folder IN LISTS ARGN system)
    if(NOT folder OR NOT EXISTS ${folder}/include/nccl.h)
      continue()
    endif()
    unset(library)
    # The wheel has libnccl.so.2 only; without NAMES_PER_DIR a libnccl.so of another folder would win.
    find_library(library NAMES nccl libnccl.so.2 NAMES_PER_DIR PATHS ${folder} PATH_SUFFIXES ${suffixes}
      NO_DEFAULT_PATH NO_CACHE)
    if(library)
      _multicard_version_in(${folder}/include/nccl.h NCCL version)
      set(${prefix}_FOUND TRUE PARENT_SCOPE)
      set(${prefix}_FOLDER ${folder} PARENT_SCOPE)
      set(${prefix}_VERSION "${version}" PARENT_SCOPE)
      set(${prefix}_INCLUDE_DIR ${folder}/include PARENT_SCOPE)
      set(${prefix}_LIBRARY ${library} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(multicard_check_cuda_major toolkit_version toolkit torch_major torch_root)
  string(REGEX MATCH "^[0-9]+" toolkit_major "${toolkit_version}")
  if(toolkit_major STREQUAL torch_major)
    return()
  endif()
  message(FATAL_ERROR "The CUDA toolkit is ${toolkit_version} (${toolkit}), but LibTorch in ${torch_root} is built "
    "with CUDA ${torch_major}: one process would load two CUDA runtimes. Load a CUDA ${torch_major} toolkit or name it "
    "with -DCUDAToolkit_ROOT=..., or set TORCH_ROOT to a LibTorch for CUDA ${toolkit_major}, or configure with "
    "-DMULTICARD_CUDA=OFF (docs/gpu.md).")
endfunction()

function(multicard_check_nccl_version version header torch_version)
  set(needed 2.28)  # of what libtorch_cuda cannot be loaded without
  if(torch_version VERSION_GREATER_EQUAL 2.14)
    set(needed 2.30)
  elseif(torch_version VERSION_GREATER_EQUAL 2.12)
    set(needed 2.29)
  endif()
  if(version VERSION_GREATER_EQUAL needed)
    return()
  endif()
  message(FATAL_ERROR "NCCL is ${version} (${header}), but LibTorch ${torch_version} calls functions of "
    "NCCL ${needed}. Run scripts/setup.sh --gpu, which puts a newer one next to LibTorch, or set NCCL_ROOT to a folder "
    "that holds one in include/ and lib/, or configure with -DMULTICARD_CUDA=OFF (docs/gpu.md).")
endfunction()
