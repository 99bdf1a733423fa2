# multicard_add_test(FILE [RANKS n ...] [GPU] [PROGRAM name] [TIMEOUT s] [LIBRARIES lib ...])
# FILE is NAME.test.cpp in tests/unit/MODULE or a folder in it; each number of ranks is a test MODULE/NAME:npN that
# fails when it is started on another number. The files of a module share one program, test_MODULE, which runs the
# tests of the files named on its command line. Those of a PROGRAM of their own are linked into that one; so are GPU
# tests, which carry the label gpu and are serialised.
function(multicard_add_test file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "GPU" "TIMEOUT;PROGRAM" "RANKS;LIBRARIES")
  if(NOT arg_RANKS)
    set(arg_RANKS 1)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(MULTICARD_SANITIZE)
    math(EXPR arg_TIMEOUT "10 * ${arg_TIMEOUT}")  # they slow some tests down twentyfold
  endif()
  get_filename_component(module ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  get_filename_component(name ${file} NAME)
  string(REPLACE ".test.cpp" "" name ${name})
  set(target test_${module})
  if(arg_PROGRAM)
    set(target ${arg_PROGRAM})
  elseif(arg_GPU)
    set(target test_${module}_gpu)
  endif()
  if(NOT TARGET ${target})
    multicard_add_test_program(${target})
  endif()
  target_sources(${target} PRIVATE ${file})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  foreach(ranks IN LISTS arg_RANKS)
    _multicard_register_test(${module}/${name}:np${ranks} ${ranks} ${arg_TIMEOUT} "${arg_GPU}" unit
      $<TARGET_FILE:${target}> ${name})
    set_property(TARGET ${target} APPEND PROPERTY MULTICARD_TEST_RANKS ${ranks})
    set_property(TARGET ${target} APPEND PROPERTY MULTICARD_TEST_FILES_${ranks} ${name})
  endforeach()
  set_property(TARGET ${target} PROPERTY MULTICARD_TEST_GPU ${arg_GPU})
endfunction()

# multicard_add_test_program(TARGET [SOURCE ...]): a GoogleTest program started by MPI, built with the target `tests`.
function(multicard_add_test_program target)
  add_executable(${target} ${ARGN})
  multicard_precompile(${target})
  target_link_libraries(${target} PRIVATE multicard_options multicard_test_support)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(tests ${target})
  cmake_language(EVAL CODE "cmake_language(DEFER CALL _multicard_seed_tests ${target})")
  cmake_language(EVAL CODE "cmake_language(DEFER CALL _multicard_add_program_tests ${target})")
endfunction()

# When all libraries of the program, and all its tests, are known.
function(_multicard_seed_tests target)
  multicard_uses_torch(${target} uses_torch)
  if(uses_torch)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/test_seed.cpp)
  endif()
endfunction()

# The tests of a program in one launch for each number of ranks, because LibTorch takes longer to load than most tests
# to run: only with `ctest -C Programs`, as scripts/test.sh does, which leaves out those of single files by their label.
function(_multicard_add_program_tests target)
  get_target_property(all_ranks ${target} MULTICARD_TEST_RANKS)
  if(NOT all_ranks)
    return()
  endif()
  get_target_property(is_gpu ${target} MULTICARD_TEST_GPU)
  list(REMOVE_DUPLICATES all_ranks)
  string(REPLACE "test_" "" program ${target})
  foreach(ranks IN LISTS all_ranks)
    get_target_property(files ${target} MULTICARD_TEST_FILES_${ranks})
    _multicard_register_test(unit/${program}:np${ranks} ${ranks} 900 ${is_gpu} unit-programs
      $<TARGET_FILE:${target}> ${files})
  endforeach()
endfunction()

# _multicard_register_test(NAME RANKS TIMEOUT IS_GPU LABEL PROGRAM FILE ...)
function(_multicard_register_test test ranks timeout is_gpu label)
  set(configurations)
  set(labels "unit;by-file")
  if(label STREQUAL "unit-programs")
    set(configurations CONFIGURATIONS Programs)
    set(labels unit-programs)
  endif()
  # Those of several ranks come first: later they would wait for processors that are free at the same time.
  list(LENGTH ARGN cost)
  if(ranks GREATER 1)
    math(EXPR cost "1000 * ${ranks} + ${cost}")
  endif()
  add_test(NAME ${test} COMMAND ${MPIEXEC_EXECUTABLE} -n ${ranks} ${ARGN} ${configurations})
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${timeout} PROCESSORS ${ranks} COST ${cost} LABELS "${labels}$<$<BOOL:${is_gpu}>:;gpu>"
    ENVIRONMENT "${MULTICARD_TEST_ENVIRONMENT};MULTICARD_TEST_RANKS=${ranks}")
  if(is_gpu)
    set_tests_properties(${test} PROPERTIES RESOURCE_LOCK gpu)
  endif()
endfunction()

# What every launch needs: root is allowed, more ranks than cores, no binding, and the file-lock setting without which
# Open MPI 4.1.4 can lose data in gapped collective writes (docs/hdf5.md). Where there is no fast network Open MPI
# chooses ob1 anyway, after a search that takes 0.2 s a launch.
set(MULTICARD_TEST_ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_fs_ufs_lock_algorithm=3 OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_pml=ob1
  HDF5_USE_FILE_LOCKING=FALSE OMP_NUM_THREADS=1
  MULTICARD_SOURCE=${PROJECT_SOURCE_DIR} MULTICARD_BUILD=${CMAKE_BINARY_DIR})
