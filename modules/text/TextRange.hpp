#pragma once
/// \file A part of a text.

#include <cstddef>

namespace multicard {

/// In bytes, `end` not included.
struct TextRange {
  std::size_t begin = 0, end = 0;
};

}  // namespace multicard
