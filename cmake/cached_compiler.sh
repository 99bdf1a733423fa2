#!/bin/sh
# usage: cached_compiler.sh CCACHE COMPILER ARGUMENT...
# Compiles through ccache. Its cache key of a file with a precompiled header takes in that header's checksum: written
# beside the header, it need not be computed from 400 MB for each file. With depend mode a miss costs no preprocessing.
# Without these sloppinesses nothing is cached that is compiled with a precompiled header. Paths below the source tree
# count relative to the build folder, so that another clone of the project finds what this one has compiled.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
export CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 CCACHE_NOHASHDIR=1
CCACHE_BASEDIR=$(dirname "$(dirname "$0")")
export CCACHE_BASEDIR
"$@" || exit
for word; do
  case $word in *.gch) sha256sum <"$word" >"$word.sum" ;; esac
done
