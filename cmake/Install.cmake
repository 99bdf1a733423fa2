# What `cmake --install` and the packages hold. All of it finds the rest relative to itself, so that the folder may be
# moved. LibTorch stays outside: bin/multicard is a script that finds it and starts libexec/multicard/multicard.
#   component multicard   everything
#   component site        where this build found LibTorch and CUDA; for `cmake --install`, not for packages
set(_share share/multicard)
set(_doc share/doc/multicard)
set(_made ${CMAKE_BINARY_DIR}/installed)

# ---- programs --------------------------------------------------------------------------------------------------------
set_target_properties(multicard PROPERTIES INSTALL_RPATH "$ORIGIN/../../lib/multicard")
set_target_properties(multicard-post PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/multicard")
install(TARGETS multicard DESTINATION libexec/multicard COMPONENT multicard)
install(TARGETS multicard-post DESTINATION bin COMPONENT multicard)

# Of the search path that CMake adds for linked libraries, folders of the site remain (modules, Spack).
set(_found_at_start ${TORCH_ROOT}/lib ${_multicard_rpath})
set(_dropped ${_found_at_start})
if(MULTICARD_ARROW_FOLDER)
  list(APPEND _dropped ${MULTICARD_ARROW_FOLDER} ${MULTICARD_ARROW_FOLDER}/lib)
  install(CODE "file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/multicard\" TYPE SHARED_LIBRARY
    FOLLOW_SYMLINK_CHAIN FILES ${MULTICARD_ARROW_LIBRARIES})" COMPONENT multicard)
endif()
foreach(_program IN ITEMS libexec/multicard/multicard bin/multicard-post)
  install(CODE "
    include(\"${CMAKE_CURRENT_LIST_DIR}/InstalledRpath.cmake\")
    multicard_clean_rpath(\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${_program}\" \"${CMAKE_READELF}\"
      \"${_dropped}\" \"${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES}\")" COMPONENT multicard)
endforeach()

set(version ${MULTICARD_TORCH_VERSION})
string(REGEX MATCH "^[0-9]+\\.[0-9]+" minor ${version})
set(libraries libtorch_cpu.so libc10.so)
if(MULTICARD_WITH_CUDA)
  list(APPEND libraries libc10_cuda.so)
endif()
list(JOIN libraries " " libraries)
configure_file(${PROJECT_SOURCE_DIR}/packaging/multicard.sh.in ${_made}/multicard @ONLY)
install(PROGRAMS ${_made}/multicard DESTINATION bin COMPONENT multicard)
list(JOIN _found_at_start "\n" _lines)
string(REPLACE "${TORCH_ROOT}/lib\n" "" _lines "${_lines}\n")
file(WRITE ${_made}/library-folders "${TORCH_ROOT}\n${_lines}")
install(FILES ${_made}/library-folders DESTINATION libexec/multicard COMPONENT site)

# ---- manual pages and completion, which the programs write from their help ------------------------------------------
# Not where they are sanitized: such programs are not installed, and slow.
if(NOT MULTICARD_SANITIZE)
  set(_help ${_made}/help)
  add_custom_command(OUTPUT ${_help}/man1/multicard.1
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/write_help.sh $<TARGET_FILE:multicard> $<TARGET_FILE:multicard-post> ${_help}
    DEPENDS multicard multicard-post ${CMAKE_CURRENT_LIST_DIR}/write_help.sh
    COMMENT "Writing manual pages and completion" VERBATIM)
  add_custom_target(installed_help ALL DEPENDS ${_help}/man1/multicard.1)
  install(DIRECTORY ${_help}/man1 ${_help}/man5 DESTINATION share/man COMPONENT multicard)
  install(DIRECTORY ${_help}/bash/ DESTINATION share/bash-completion/completions COMPONENT multicard)
  install(DIRECTORY ${_help}/zsh/ DESTINATION share/zsh/site-functions COMPONENT multicard)
  install(DIRECTORY ${_help}/fish/ DESTINATION share/fish/vendor_completions.d COMPONENT multicard)
endif()

# ---- LibTorch, fetched after the installation ------------------------------------------------------------------------
set(_scripts ${PROJECT_SOURCE_DIR}/scripts)
install(PROGRAMS ${_scripts}/setup_libtorch.sh ${_scripts}/wheel_records.py ${_scripts}/get_model.sh
  ${_scripts}/gguf_to_folder.py DESTINATION ${_share}/scripts COMPONENT multicard)
install(FILES ${_scripts}/env.sh ${_scripts}/lib.sh ${_scripts}/libtorch.sh DESTINATION ${_share}/scripts
  COMPONENT multicard)
file(GLOB _pins ${_scripts}/libtorch/${version}.txt ${_scripts}/libtorch/${version}-gpu.txt)
file(WRITE ${_made}/default "${version}\n")
install(FILES ${_pins} ${_made}/default DESTINATION ${_share}/scripts/libtorch COMPONENT multicard)
file(CREATE_LINK ../${_share}/scripts/setup_libtorch.sh ${_made}/multicard-setup-libtorch SYMBOLIC)
install(FILES ${_made}/multicard-setup-libtorch DESTINATION bin COMPONENT multicard)

# ---- decks, batch scripts, modules, documents ------------------------------------------------------------------------
install(DIRECTORY ${PROJECT_SOURCE_DIR}/inputs ${PROJECT_SOURCE_DIR}/slurm DESTINATION ${_share} COMPONENT multicard
  REGEX "/inputs/tests$" EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/postproc/schema DESTINATION ${_share} COMPONENT multicard)
set(_modules ${PROJECT_SOURCE_DIR}/packaging/modulefiles)
install(FILES ${_modules}/multicard.lua DESTINATION ${_share}/modulefiles/lmod/multicard COMPONENT multicard
  RENAME ${PROJECT_VERSION}.lua)
install(FILES ${_modules}/multicard.tcl DESTINATION ${_share}/modulefiles/tcl/multicard COMPONENT multicard
  RENAME ${PROJECT_VERSION})
install(FILES ${PROJECT_SOURCE_DIR}/packaging/grafana/multicard.json DESTINATION ${_share}/grafana
  COMPONENT multicard)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${_doc} COMPONENT multicard)
foreach(_file IN ITEMS README.md INSTALL.md CHANGELOG.md CITATION.cff LICENSE packaging/copyright)
  install(FILES ${PROJECT_SOURCE_DIR}/${_file} DESTINATION ${_doc} COMPONENT multicard)
endforeach()
if(MULTICARD_ARROW_FOLDER)
  file(GLOB _licences ${MULTICARD_ARROW_FOLDER}/*.txt)
  install(FILES ${_licences} DESTINATION ${_doc}/licences/arrow COMPONENT multicard)
endif()
