#pragma once
/// \file Ranges of numbers in words; for Section.cpp.

#include <limits>
#include <string>

#include <fmt/format.h>

#include "config/Section.hpp"

namespace multicard {

/// As documents say it: "number, 0 ≤ x < 1".
template <class T>
std::string range_note(const char* type, T low, T high) {
  const bool open_below = static_cast<double>(low) == kAboveZero, open_above = static_cast<double>(high) == kBelowOne;
  const bool has_low = low != std::numeric_limits<T>::lowest(), has_high = high != std::numeric_limits<T>::max();
  const std::string from = open_below ? "0" : fmt::format("{}", low);
  if (has_low && has_high)
    return fmt::format("{}, {} {} x {} {}", type, from, open_below ? "<" : "≤", open_above ? "<" : "≤",
                       open_above ? "1" : fmt::format("{}", high));
  return has_low ? fmt::format("{}, {} {}", type, open_below ? ">" : "≥", from) : std::string(type);
}

/// As messages say it: "at least 0 and below 1".
template <class T>
std::string range_text(T low, T high) {
  const bool above_zero = static_cast<double>(low) == kAboveZero;
  const bool below_one = static_cast<double>(high) == kBelowOne;
  std::string from = above_zero ? "more than 0" : fmt::format("at least {}", low);
  if (high == std::numeric_limits<T>::max()) return from;
  if (above_zero || below_one) return from + (below_one ? " and below 1" : fmt::format(" and at most {}", high));
  return fmt::format("{} to {}", low, high);
}

}  // namespace multicard
