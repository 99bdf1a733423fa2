# The compiler of the project's own GPU kernels. A CUDA build without nvcc leaves their work to ATen's.
#   CMAKE_CUDA_ARCHITECTURES   GPUs to make machine code for; the driver translates for others. By default those of the
#   data centre that the toolkit knows: A100, H100 and H200, B200 (a later minor version runs the code of its major
#   one).
#   The driver translates the oldest PTX for Turing and the newest for GPUs that come after.
set(MULTICARD_WITH_NVCC 0)
if(MULTICARD_WITH_CUDA AND CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE _known COMMAND_ERROR_IS_FATAL ANY)
    foreach(_architecture IN ITEMS 75-virtual 80-real 90-real 100)
      string(REGEX MATCH "^[0-9]+" _number ${_architecture})
      if(_known MATCHES "compute_${_number}\n")
        list(APPEND CMAKE_CUDA_ARCHITECTURES ${_architecture})
      endif()
    endforeach()
  endif()
  if(MULTICARD_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${MULTICARD_CCACHE})
  endif()
  set(CMAKE_CUDA_STANDARD 17)  # the newest that CMake 3.25 knows of nvcc
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # the one that LibTorch loads
  enable_language(CUDA)
  set(MULTICARD_WITH_NVCC 1)
endif()
