#pragma once
/// \file Reading the traces that Kineto, the profiler of PyTorch, writes.

#include <string>

#include "profile/trace/Trace.hpp"

namespace multicard {

/// Reads a trace in Chrome's format (an object with `traceEvents`, or these alone), plain or gzipped. Only complete
/// events (`ph` X) are read; what is left out although a table could need it is named in `notices`.
/// \throws DataError where the file cannot be read, is not JSON (with the position), or has no events of a trace
Trace read_trace(const std::string& path);

}  // namespace multicard
