# The compiler of the project's own GPU kernels. A CUDA build without nvcc leaves their work to ATen's.
#   CMAKE_CUDA_ARCHITECTURES   GPUs to make machine code for (default: H100 and H200; the driver translates for others)
set(MULTICARD_WITH_NVCC 0)
if(MULTICARD_WITH_CUDA AND CUDAToolkit_NVCC_EXECUTABLE)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-virtual 90-real)
  endif()
  if(MULTICARD_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${MULTICARD_CCACHE})
  endif()
  set(CMAKE_CUDA_STANDARD 17)  # the newest that CMake 3.25 knows of nvcc
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # the one that LibTorch loads
  enable_language(CUDA)
  set(MULTICARD_WITH_NVCC 1)
endif()
