# Precompiled headers: one with the standard library and fmt, and one with ATen's tensor on top, which alone takes a
# compiler 8 s to read. The libraries of the project share the two.
#   MULTICARD_PRECOMPILE=OFF   compiles every file from its own includes alone: checks that it includes what it uses
option(MULTICARD_PRECOMPILE "Use precompiled headers" ON)
set(MULTICARD_HEADER_FOLDER ${CMAKE_CURRENT_LIST_DIR}/precompile)

if(MULTICARD_PRECOMPILE)
  # Programs are compiled like the libraries (-fPIC instead of -fPIE), so that they can share the headers.
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
  # Included by name, not by path, so that a compiler cache finds the same header in every checkout.
  add_library(multicard_pch_plain OBJECT ${MULTICARD_HEADER_FOLDER}/empty.cpp)
  target_link_libraries(multicard_pch_plain PRIVATE multicard_options fmt::fmt)
  target_include_directories(multicard_pch_plain PRIVATE ${MULTICARD_HEADER_FOLDER})
  target_precompile_headers(multicard_pch_plain PRIVATE <plain.hpp>)

  add_library(multicard_pch_torch OBJECT ${MULTICARD_HEADER_FOLDER}/empty.cpp)
  target_link_libraries(multicard_pch_torch PRIVATE multicard_options multicard_torch fmt::fmt)
  target_include_directories(multicard_pch_torch PRIVATE ${MULTICARD_HEADER_FOLDER})
  target_precompile_headers(multicard_pch_torch PRIVATE <torch.hpp>)
endif()

# Whether a target is compiled with LibTorch's include folder, directly or through the libraries it links.
function(multicard_uses_torch target result)
  set(${result} FALSE PARENT_SCOPE)
  set(libraries ${target})
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    get_target_property(libraries ${target} LINK_LIBRARIES)
  endif()
  set(seen)
  while(libraries)
    list(POP_FRONT libraries library)
    if(library STREQUAL "multicard_torch")
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
    if(TARGET ${library} AND NOT library IN_LIST seen)
      list(APPEND seen ${library})
      get_target_property(next ${library} INTERFACE_LINK_LIBRARIES)
      if(next)
        list(APPEND libraries ${next})
      endif()
    endif()
  endwhile()
endfunction()

# multicard_precompile(TARGET): compiles the C++ files of the target with the precompiled header that suits what it
# links; decided at the end of the calling folder, when all libraries are known.
function(multicard_precompile target)
  if(MULTICARD_PRECOMPILE)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _multicard_precompile_now ${target})")
  endif()
endfunction()

function(_multicard_precompile_now target)
  multicard_uses_torch(${target} uses_torch)
  if(uses_torch)
    target_precompile_headers(${target} REUSE_FROM multicard_pch_torch)
  else()
    target_precompile_headers(${target} REUSE_FROM multicard_pch_plain)
  endif()
endfunction()
