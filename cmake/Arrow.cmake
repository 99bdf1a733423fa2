# Arrow's libparquet, with which data sets in Parquet are read: sets MULTICARD_WITH_PARQUET, and makes the target
# multicard_arrow where there is one. MULTICARD_ARROW_FOLDER and MULTICARD_ARROW_LIBRARIES are those of 1 and 2, which
# installations include. In this order:
#   1. ARROW_ROOT, a folder that holds include/ and libarrow and libparquet (in it or in lib/)
#   2. what scripts/setup.sh --parquet has fetched
#   3. an installation that brings a CMake package Parquet
set(MULTICARD_PARQUET AUTO CACHE STRING "Reading Parquet: AUTO (where Arrow's libparquet is found), ON or OFF")
set_property(CACHE MULTICARD_PARQUET PROPERTY STRINGS AUTO ON OFF)
set(ARROW_ROOT "" CACHE PATH "Folder of Arrow's C++ libraries (holds include/ and libparquet)")

function(_multicard_find_arrow)
  set(roots ${ARROW_ROOT})
  if(NOT roots)
    file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/llm-method-peers-requirements.txt pin REGEX "^pyarrow==")
    string(REGEX REPLACE "^pyarrow==([0-9.]+).*" "\\1" version "${pin}")
    set(roots ${_multicard_cache}/arrow-${version})
  endif()
  # Looked for at each configuration: setup.sh may have been run since.
  file(GLOB arrow ${roots}/libarrow.so.[0-9]* ${roots}/lib/libarrow.so.[0-9]*)
  file(GLOB parquet ${roots}/libparquet.so.[0-9]* ${roots}/lib/libparquet.so.[0-9]*)
  if(arrow AND parquet AND EXISTS ${roots}/include/parquet/arrow/reader.h)
    list(GET arrow 0 arrow)
    list(GET parquet 0 parquet)
    set(MULTICARD_ARROW_FOLDER ${roots} PARENT_SCOPE)
    set(MULTICARD_ARROW_LIBRARIES ${parquet} ${arrow} PARENT_SCOPE)
    add_library(multicard_arrow INTERFACE)
    target_include_directories(multicard_arrow SYSTEM INTERFACE ${roots}/include)
    target_link_libraries(multicard_arrow INTERFACE ${parquet} ${arrow})
    return()
  endif()
  if(ARROW_ROOT)
    message(FATAL_ERROR "No Arrow at ARROW_ROOT=${ARROW_ROOT}: it holds no include/parquet/arrow/reader.h, "
      "libarrow.so.N and libparquet.so.N.")
  endif()
  find_package(Parquet CONFIG QUIET)
  if(TARGET Parquet::parquet_shared)
    add_library(multicard_arrow INTERFACE)
    target_link_libraries(multicard_arrow INTERFACE Parquet::parquet_shared)
  endif()
endfunction()

if(MULTICARD_PARQUET)
  _multicard_find_arrow()
endif()
if(TARGET multicard_arrow)
  set(MULTICARD_WITH_PARQUET ON)
else()
  set(MULTICARD_WITH_PARQUET OFF)
  if(MULTICARD_PARQUET AND NOT MULTICARD_PARQUET STREQUAL AUTO)
    message(FATAL_ERROR "MULTICARD_PARQUET=${MULTICARD_PARQUET}, but no libparquet was found: run scripts/setup.sh "
      "--parquet, or set ARROW_ROOT.")
  endif()
endif()
