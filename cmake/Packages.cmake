# Packages of what Install.cmake installs, without LibTorch: `cpack` in the build folder, or scripts/release.sh.
set(CPACK_PACKAGE_NAME multicard)
set(CPACK_PACKAGE_VENDOR "the multicard project")
set(CPACK_PACKAGE_CONTACT "the multicard maintainers" CACHE STRING "Maintainer of the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "train and tune neural networks over the ranks of an MPI job")
set(CPACK_PACKAGE_DESCRIPTION
  "multicard trains image classifiers and fine-tunes language models with one MPI rank per GPU, or on CPU ranks, and
measures where the time of each step goes. LibTorch ${MULTICARD_TORCH_VERSION}, which it needs, is not part of the
package: multicard-setup-libtorch fetches it, or TORCH_ROOT names one.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
set(CPACK_THREADS 0)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};multicard;multicard;/")  # one component, not that of this machine

string(TOLOWER ${CMAKE_SYSTEM_NAME} _system)
set(CPACK_PACKAGE_FILE_NAME multicard-${PROJECT_VERSION}-${_system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_GENERATOR TGZ)
find_program(MULTICARD_SHLIBDEPS dpkg-shlibdeps)
if(MULTICARD_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
# Libraries by dpkg-shlibdeps, which has no package for those in the private folders; programs by name.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${TORCH_ROOT}/lib ${_dropped})
set(CPACK_DEBIAN_PACKAGE_DEPENDS "openmpi-bin, gnuplot-nox | gnuplot")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3, python3-pip | python3-venv")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "slurm-client")
include(CPack)
