#pragma once
/// \file The one way to write to standard output, where results go that other programs read.

#include <string_view>

namespace multicard {

/// Writes all of `text` at once: nothing waits in a buffer that could be lost unnoticed. Where a reader has closed
/// its end of a pipe (`| head -1`), the process ends by SIGPIPE, silently, as other programs do; where that
/// signal is ignored this is an error as any other. \throws DataError when it cannot be written (closed, a full disk)
///
/// Linking this in has two effects from the first instruction on, before any library opens a file. A standard stream
/// that is closed is taken by /dev/null, so that no file gets its number and with it what is meant for the stream;
/// standard output then still refuses to be written. And SIGPIPE and SIGXFSZ are blocked: a closed pipe or a file
/// beyond `ulimit -f` is an error of the call that writes, which says so in order, instead of the end of the process.
void print(std::string_view text);

}  // namespace multicard
