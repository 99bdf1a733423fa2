# multicard_add_test(FILE [RANKS n ...] [GPU] [TIMEOUT s] [LIBRARIES lib ...])
# FILE is NAME.test.cpp in tests/unit/MODULE; each number of ranks is a test MODULE/NAME:npN that fails
# when it is started on another number. GPU tests carry the label gpu and are serialised.
function(multicard_add_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "GPU" "TIMEOUT" "RANKS;LIBRARIES")
  if(NOT arg_RANKS)
    set(arg_RANKS 1)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR}/${file} DIRECTORY)
  get_filename_component(module ${folder} NAME)
  get_filename_component(name ${file} NAME)
  string(REPLACE ".test.cpp" "" name ${name})
  set(target test_${module}_${name})
  add_executable(${target} ${file})
  target_link_libraries(${target} PRIVATE multicard_options multicard_test_support ${arg_LIBRARIES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  foreach(ranks IN LISTS arg_RANKS)
    set(test ${module}/${name}:np${ranks})
    add_test(NAME ${test} COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks} $<TARGET_FILE:${target}>)
    set_tests_properties(${test} PROPERTIES
      TIMEOUT ${arg_TIMEOUT} PROCESSORS ${ranks} LABELS "unit$<$<BOOL:${arg_GPU}>:;gpu>"
      ENVIRONMENT "${MULTICARD_TEST_ENVIRONMENT};MULTICARD_TEST_RANKS=${ranks}")
    if(arg_GPU)
      set_tests_properties(${test} PROPERTIES RESOURCE_LOCK gpu)
    endif()
  endforeach()
endfunction()

# What every launch needs: root is allowed, more ranks than cores, no binding, and the file-lock setting without which
# Open MPI 4.1.4 can lose data in gapped collective writes (docs/hdf5.md).
set(MULTICARD_TEST_ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_fs_ufs_lock_algorithm=3 OMPI_MCA_mpi_yield_when_idle=1
  HDF5_USE_FILE_LOCKING=FALSE OMP_NUM_THREADS=1
  MULTICARD_SOURCE=${PROJECT_SOURCE_DIR} MULTICARD_BUILD=${CMAKE_BINARY_DIR})
