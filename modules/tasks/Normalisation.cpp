#include "tasks/Normalisation.hpp"

#include <fmt/format.h>

namespace multicard {

std::map<std::string, double> normalisation_to_numbers(const NormalizeOptions& values) {
  std::map<std::string, double> numbers;
  for (std::size_t i = 0; i < values.mean.size(); ++i) {
    numbers[fmt::format("normalize.mean.{}", i)] = values.mean[i];
    // A deviation of 0 counts as 1, and decks can only say the latter.
    numbers[fmt::format("normalize.std.{}", i)] = values.std[i] > 0 ? values.std[i] : 1;
  }
  return numbers;
}

std::optional<NormalizeOptions> normalisation_from_numbers(const std::map<std::string, double>& numbers) {
  NormalizeOptions values;
  for (std::size_t i = 0; numbers.contains(fmt::format("normalize.mean.{}", i)); ++i) {
    values.mean.push_back(numbers.at(fmt::format("normalize.mean.{}", i)));
    values.std.push_back(numbers.at(fmt::format("normalize.std.{}", i)));
  }
  return values.mean.empty() ? std::nullopt : std::optional(values);
}

}  // namespace multicard
