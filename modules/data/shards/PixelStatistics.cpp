#include "data/shards/PixelStatistics.hpp"

#include <fmt/format.h>

namespace multicard {

std::map<std::string, double> numbers_of(const PixelStatistics& statistics) {
  std::map<std::string, double> numbers;
  for (std::size_t i = 0; i < statistics.mean.size(); ++i) {
    numbers[fmt::format("normalize.mean.{}", i)] = statistics.mean[i];
    // A deviation of 0 counts as 1, and decks can only say the latter.
    numbers[fmt::format("normalize.std.{}", i)] = statistics.std[i] > 0 ? statistics.std[i] : 1;
  }
  return numbers;
}

std::optional<PixelStatistics> pixel_statistics_from(const std::map<std::string, double>& numbers) {
  PixelStatistics statistics;
  for (std::size_t i = 0; numbers.contains(fmt::format("normalize.mean.{}", i)); ++i) {
    statistics.mean.push_back(numbers.at(fmt::format("normalize.mean.{}", i)));
    statistics.std.push_back(numbers.at(fmt::format("normalize.std.{}", i)));
  }
  return statistics.mean.empty() ? std::nullopt : std::optional(statistics);
}

}  // namespace multicard
