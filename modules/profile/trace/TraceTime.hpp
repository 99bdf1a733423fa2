#pragma once
/// \file Times of traces, which are decimal microseconds.

#include <cstdint>
#include <optional>
#include <string_view>

namespace multicard {

/// Nanoseconds of a JSON number of microseconds, exact to the nanosecond (further digits are rounded): a double has
/// steps of 0.25 us where microseconds count from 1970. None where `text` is not a number or does not fit.
std::optional<std::int64_t> nanoseconds_of(std::string_view text);

}  // namespace multicard
