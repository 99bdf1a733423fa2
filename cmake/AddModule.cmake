# multicard_add_module(NAME SOURCES a.cpp ... [PLAIN_SOURCES b.cpp ...] [OPTION_SOURCES c.cpp ...]
#   [PUBLIC lib ...] [PRIVATE lib ...])
# One library multicard_NAME (alias multicard::NAME) with include root modules/. Sources are relative to the module's
# folder. A dependency multicard::X must exist already: modules are added bottom-up, so a wrong direction stops here.
# PLAIN_SOURCES are those of a module with LibTorch that do not use it: they are compiled without its include folder,
# several times faster. OPTION_SOURCES read what decks say of the module, with base and config alone: those of all
# modules together are multicard::deck_options, for programs that read decks without LibTorch.
function(multicard_add_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PLAIN_SOURCES;OPTION_SOURCES;PUBLIC;PRIVATE")
  foreach(dependency IN LISTS arg_PUBLIC arg_PRIVATE)
    if(dependency MATCHES "^multicard::" AND NOT TARGET ${dependency})
      message(FATAL_ERROR "Module ${name} depends on ${dependency}, which does not exist below it "
        "(modules are added bottom-up in CMakeLists.txt): move the code or reverse the dependency.")
    endif()
  endforeach()
  add_library(multicard_${name} STATIC ${arg_SOURCES})
  add_library(multicard::${name} ALIAS multicard_${name})
  target_include_directories(multicard_${name} PUBLIC ${PROJECT_SOURCE_DIR}/modules)
  target_link_libraries(multicard_${name} PUBLIC ${arg_PUBLIC} PRIVATE multicard_options ${arg_PRIVATE})
  multicard_precompile(multicard_${name})
  if(arg_PLAIN_SOURCES)
    add_library(multicard_${name}_plain OBJECT ${arg_PLAIN_SOURCES})
    target_include_directories(multicard_${name}_plain PRIVATE ${PROJECT_SOURCE_DIR}/modules)
    target_link_libraries(multicard_${name}_plain PRIVATE multicard_options multicard::base)
    foreach(library IN LISTS arg_PUBLIC arg_PRIVATE)
      multicard_uses_torch(${library} uses_torch)
      if(NOT uses_torch)
        target_link_libraries(multicard_${name}_plain PRIVATE ${library})
      endif()
    endforeach()
    multicard_precompile(multicard_${name}_plain)
    target_sources(multicard_${name} PRIVATE $<TARGET_OBJECTS:multicard_${name}_plain>)
  endif()
  if(arg_OPTION_SOURCES)
    add_library(multicard_${name}_deck OBJECT ${arg_OPTION_SOURCES})
    target_include_directories(multicard_${name}_deck PRIVATE ${PROJECT_SOURCE_DIR}/modules)
    target_link_libraries(multicard_${name}_deck PRIVATE multicard_options multicard::config)
    multicard_precompile(multicard_${name}_deck)
    target_sources(multicard_${name} PRIVATE $<TARGET_OBJECTS:multicard_${name}_deck>)
    set_property(GLOBAL APPEND PROPERTY MULTICARD_DECK_OBJECTS $<TARGET_OBJECTS:multicard_${name}_deck>)
  endif()
endfunction()

# multicard_add_deck_options(): multicard::deck_options, when all modules are there.
function(multicard_add_deck_options)
  get_property(objects GLOBAL PROPERTY MULTICARD_DECK_OBJECTS)
  add_library(multicard_deck_options STATIC ${objects})
  add_library(multicard::deck_options ALIAS multicard_deck_options)
  target_include_directories(multicard_deck_options PUBLIC ${PROJECT_SOURCE_DIR}/modules)
  target_link_libraries(multicard_deck_options PUBLIC multicard::config)
endfunction()

# multicard_hot_sources(SOURCE ...): files whose loops do the work; they are compiled with -O3. Not under sanitizers:
# g++ 12 crashes at -O3 where the precompiled header was made at -O1.
function(multicard_hot_sources)
  if(MULTICARD_SANITIZE)
    return()
  endif()
  foreach(source IN LISTS ARGN)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release,RelWithDebInfo>:-O3>)
  endforeach()
endfunction()
