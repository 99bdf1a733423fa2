#pragma once
/// \file Which rows are made of sequences of tokens.

#include <cstdint>
#include <optional>

namespace multicard {

/// What becomes of a sequence longer than max_length.
enum class Overlong {
  cut,   ///< its end is left out
  drop,  ///< all of it is left out
  error
};

struct RowOptions {
  bool packing = false;                    ///< several sequences to a row of at most max_length tokens
  std::optional<std::int64_t> max_length;  ///< tokens; needed with packing
  Overlong overlong = Overlong::cut;
  std::optional<std::int64_t> limit;  ///< only the first sequences of the shards
};

}  // namespace multicard
