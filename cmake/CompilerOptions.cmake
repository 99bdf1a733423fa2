# Language level, warnings and sanitizers, the same for every target of the project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# -O3 costs a third more time to compile than it gains outside loops: those ask for it (multicard_hot_sources).
if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()

find_program(MULTICARD_CCACHE ccache)
if(MULTICARD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER sh ${CMAKE_CURRENT_LIST_DIR}/cached_compiler.sh ${MULTICARD_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${MULTICARD_CCACHE})
endif()

add_library(multicard_options INTERFACE)
set(_host_language $<COMPILE_LANGUAGE:C,CXX>)
set(_gnu "$<COMPILE_LANG_AND_ID:C,GNU>,$<COMPILE_LANG_AND_ID:CXX,GNU>")
target_compile_options(multicard_options INTERFACE
  "$<${_host_language}:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wundef>"
  # g++ 12 reports copies inside std::string (GCC bugs 105329, 105651).
  "$<$<OR:${_gnu}>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>"
  $<$<AND:${_host_language},$<BOOL:${MULTICARD_WERROR}>>:-Werror>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>  # ccache needs it to see a precompiled header
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${MULTICARD_WERROR}>>:-Werror=all-warnings>)
# libtorch brings its own OpenMP runtime; the project's code uses std::thread and at::parallel_for only.
if(MULTICARD_SANITIZE)
  target_compile_options(multicard_options INTERFACE
    "$<${_host_language}:-fsanitize=${MULTICARD_SANITIZE};-fno-omit-frame-pointer>")
  target_link_options(multicard_options INTERFACE -fsanitize=${MULTICARD_SANITIZE})
endif()
