# multicard_add_module(NAME SOURCES a.cpp ... [PUBLIC lib ...] [PRIVATE lib ...])
# One library multicard_NAME (alias multicard::NAME) with include root modules/. Sources are relative to the module's
# folder. A dependency multicard::X must exist already: modules are added bottom-up, so a wrong direction stops here.
function(multicard_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  foreach(dependency IN LISTS arg_PUBLIC arg_PRIVATE)
    if(dependency MATCHES "^multicard::" AND NOT TARGET ${dependency})
      message(FATAL_ERROR "Module ${name} depends on ${dependency}, which does not exist below it "
        "(modules are added bottom-up in CMakeLists.txt): move the code or turn the dependency round.")
    endif()
  endforeach()
  add_library(multicard_${name} STATIC ${arg_SOURCES})
  add_library(multicard::${name} ALIAS multicard_${name})
  target_include_directories(multicard_${name} PUBLIC ${PROJECT_SOURCE_DIR}/modules)
  target_link_libraries(multicard_${name} PUBLIC ${arg_PUBLIC} PRIVATE multicard_options ${arg_PRIVATE})
endfunction()
