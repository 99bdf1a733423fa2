# Writes a source that names the commit; run by every build, because a commit does not change any file that CMake reads.
#   cmake -DSOURCE=<source tree> -DTEMPLATE=<file with @MULTICARD_GIT@> -DOUTPUT=<source> -P DescribeCommit.cmake
# OUTPUT is rewritten only where it would change. Without git, or in an archive, the commit is "unknown".
set(MULTICARD_GIT "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE MULTICARD_GIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT MULTICARD_GIT)
  set(MULTICARD_GIT unknown)
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
