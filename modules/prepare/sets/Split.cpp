#include "prepare/sets/Split.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "data/loading/Sampler.hpp"

namespace multicard {

std::vector<bool> choose_test_part(std::int64_t count, double fraction, std::uint64_t seed) {
  SamplerOptions order;
  order.num_rows = order.global_batch = count;
  order.seed = seed;
  const std::vector<std::int64_t> shuffled = Sampler(order).rows(0);
  const auto num_test = static_cast<std::size_t>(std::floor(fraction * static_cast<double>(count) + 0.5));
  const double least = 1 / static_cast<double>(count);
  // All ranks compute this from the same numbers, and so find the error together.
  if (num_test == 0 || num_test >= shuffled.size())
    throw UsageError(fmt::format("--split {} of {} leaves no record {}", fraction, count,
                                 num_test == 0 ? "for testing" : "to train on"),
                     fmt::format("round({} x {}) is {}", fraction, count, num_test),
                     count > 1
                         ? fmt::format("Set it between {} and {}.", significant(least, 2), significant(1 - least, 2))
                         : "Leave it out.")
        .on_all_ranks();
  std::vector<bool> is_test(shuffled.size());
  for (std::size_t i = 0; i < num_test; ++i)
    is_test[static_cast<std::size_t>(shuffled[i])] = true;
  return is_test;
}

}  // namespace multicard
