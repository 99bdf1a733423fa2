#include "base/NamedNumbers.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

std::optional<double> number_of(const NamedNumbers& numbers, const std::string& name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> whole_number_of(const NamedNumbers& numbers, const std::string& name, std::int64_t low) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;
  const std::optional<double> number = number_of(numbers, name);
  if (!number) return std::nullopt;
  const bool is_in_range = *number >= static_cast<double>(low) && *number <= static_cast<double>(kLargest);
  if (!is_in_range || std::trunc(*number) != *number)
    throw DataError(fmt::format("trainer.json has {} = {}", name, *number),
                    fmt::format("it can be whole numbers from {} on", low), "Resume from another checkpoint.");
  return static_cast<std::int64_t>(*number);
}

}  // namespace multicard
