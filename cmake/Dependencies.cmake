# Third-party libraries. Each is found once here and linked only by the modules that hide it.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
# Neither brings a CMake package everywhere.
find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
add_library(multicard_unicode INTERFACE)
target_include_directories(multicard_unicode SYSTEM INTERFACE ${PCRE2_INCLUDE_DIR} ${UTF8PROC_INCLUDE_DIR})
target_link_libraries(multicard_unicode INTERFACE ${PCRE2_LIBRARY} ${UTF8PROC_LIBRARY})

find_package(MPI REQUIRED COMPONENTS C)
add_library(multicard_mpi INTERFACE)
target_link_libraries(multicard_mpi INTERFACE MPI::MPI_C)
# The C interface from C++: keep Open MPI's removed C++ bindings out.
target_compile_definitions(multicard_mpi INTERFACE OMPI_SKIP_MPICXX=1)

set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 REQUIRED COMPONENTS C)
if(NOT HDF5_IS_PARALLEL)
  message(FATAL_ERROR "The HDF5 found (${HDF5_C_LIBRARIES}) is serial. multicard needs a parallel build made with the "
    "same MPI: install libhdf5-openmpi-dev, or set HDF5_ROOT to a parallel HDF5.")
endif()

include(TorchWheel)
include(CudaKernels)
