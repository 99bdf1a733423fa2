#pragma once
/// \file How the files of time lines are known.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace multicard {

/// The comment in the header of each gzip member of a time line.
inline constexpr const char* kTraceComment = "multicard-trace";

/// Whether a file that begins so is a time line, whole or cut off.
inline bool begins_as_time_line(std::string_view bytes) {
  constexpr std::size_t kFixedHeader = 10;  // the comment follows, as nothing else of RFC 1952 is used
  return bytes.starts_with("\x1f\x8b") && bytes.substr(std::min(kFixedHeader, bytes.size())).starts_with(kTraceComment);
}

}  // namespace multicard
