#include "prepare/sets/TextStatistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "data/loading/FirstFit.hpp"

namespace multicard {

namespace {

/// The smallest of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is not below the length.
std::uint64_t bin_of(std::int64_t length) {
  const std::uint64_t power = std::bit_ceil(static_cast<std::uint64_t>(length)), between = power / 4 * 3;
  return between >= static_cast<std::uint64_t>(length) ? between : power;
}

std::string histogram(const std::vector<std::int64_t>& lengths) {
  constexpr std::int64_t kWidest = 40;
  std::map<std::uint64_t, std::int64_t> bins;
  std::int64_t largest = 0;
  for (const std::int64_t length : lengths)
    largest = std::max(largest, ++bins[bin_of(length)]);
  std::string text;
  for (const auto& [limit, count] : bins)
    text += fmt::format("\n  {:>9} or less {:>11}  {}", grouped(static_cast<std::int64_t>(limit)), grouped(count),
                        std::string(static_cast<std::size_t>((count * kWidest + largest - 1) / largest), '#'));
  return text;
}

/// How full rows of `capacity` tokens become, longer sequences being cut.
std::string fill_of(std::vector<std::int64_t> lengths, std::int64_t capacity) {
  for (std::int64_t& length : lengths)
    length = std::min(length, capacity);
  const std::vector<std::size_t> packs = first_fit(lengths, capacity);
  const auto num_rows = static_cast<std::int64_t>(*std::max_element(packs.begin(), packs.end())) + 1;
  const auto tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  return fmt::format("{} tokens: {:.1f} % full in {}", grouped(capacity),
                     100.0 * static_cast<double>(tokens) / static_cast<double>(num_rows * capacity),
                     counted(num_rows, "row"));
}

}  // namespace

std::string length_summary(const std::vector<std::int64_t>& lengths, bool can_pack) {
  std::vector<std::int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    return grouped(sorted[static_cast<std::size_t>(std::floor(share * static_cast<double>(sorted.size() - 1) + 0.5))]);
  };
  const double mean = static_cast<double>(std::accumulate(sorted.begin(), sorted.end(), std::int64_t{0})) /
                      static_cast<double>(sorted.size());
  std::string text =
      fmt::format("tokens of a sequence: shortest {}, median {}, mean {}, 90 % up to {}, 99 % up to {}, longest {}",
                  at(0), at(0.5), significant(mean), at(0.9), at(0.99), at(1));
  text += histogram(lengths);
  if (!can_pack) return text;
  // Shorter rows than half of the sequences would mostly measure cuts.
  std::vector<std::string> fills;
  for (const std::int64_t capacity : {512, 1024, 2048, 4096, 8192})
    if (capacity >= sorted[sorted.size() / 2]) fills.push_back(fill_of(lengths, capacity));
  if (!fills.empty()) text += "\n  packed into rows of " + join(fills, ", ");
  return text;
}

}  // namespace multicard
