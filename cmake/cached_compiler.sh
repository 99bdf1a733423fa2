#!/bin/sh
# usage: cached_compiler.sh CCACHE COMPILER ARGUMENT...
# Compiles through ccache. Its cache key of a file with a precompiled header takes in that header's checksum: written
# next to the header, it need not be computed from 400 MB for each file. With depend mode a miss costs no preprocessing.
# Without these sloppinesses nothing is cached that is compiled with a precompiled header. Those that ignore the times
# of included files are not among them: depend mode reads the headers after the compiler has, and only by its time can
# ccache know a header that was edited in between, whose old object it would keep for the new text.
# Paths below the source tree count relative to the build folder, so that another clone of the project finds what this
# one has compiled. Another namespace abandons what is cached: for use when an entry may be wrong.
export CCACHE_SLOPPINESS=pch_defines,time_macros
export CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 CCACHE_NOHASHDIR=1 CCACHE_NAMESPACE=multicard-2
CCACHE_BASEDIR=$(dirname "$(dirname "$0")")
export CCACHE_BASEDIR
"$@" || exit
for word; do
  case $word in *.gch) sha256sum <"$word" >"$word.sum" ;; esac
done
