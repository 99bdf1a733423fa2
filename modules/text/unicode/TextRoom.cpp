#include "text/unicode/TextRoom.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {

// Steps are called one from the other (PreTokenizer), so that their number is also the depth of the recursion.
void require_few_steps(std::size_t num_steps, const char* what) {
  if (num_steps > kMostSteps) throw DataError(fmt::format("{} has more than {} steps", what, kMostSteps));
}

// A text is never cut at the limit: fewer tokens than the library gives would be wrong without any sign of it.
void TextRoom::refuse() const {
  throw DataError(fmt::format("{} makes more than {} of a text of {}", what_,
                              human_bytes(static_cast<double>(room_for(text_bytes_))),
                              human_bytes(static_cast<double>(text_bytes_))),
                  "the file is damaged or was made to exhaust memory");
}

}  // namespace multicard
