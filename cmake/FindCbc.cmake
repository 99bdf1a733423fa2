# COIN-OR CBC, a solver of mixed-integer programs; the target Cbc::Cbc is its C interface. Debian has no CMake package.
find_path(CBC_INCLUDE_DIR Cbc_C_Interface.h PATH_SUFFIXES coin coin-or)
find_library(CBC_LIBRARY CbcSolver)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cbc REQUIRED_VARS CBC_LIBRARY CBC_INCLUDE_DIR)
if(Cbc_FOUND AND NOT TARGET Cbc::Cbc)
  add_library(Cbc::Cbc UNKNOWN IMPORTED)
  set_target_properties(Cbc::Cbc PROPERTIES IMPORTED_LOCATION ${CBC_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${CBC_INCLUDE_DIR} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${CBC_INCLUDE_DIR})
endif()
mark_as_advanced(CBC_INCLUDE_DIR CBC_LIBRARY)
