#include "results/Divergence.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/Quantiles.hpp"
#include "base/Text.hpp"

namespace multicard {

std::optional<std::string> divergence(std::span<const double> train_losses) {
  constexpr std::size_t kFewest = 5;
  constexpr double kFactor = 10, kUseless = 10;
  if (train_losses.size() < kFewest) return std::nullopt;
  const std::span<const double> last = train_losses.last(std::max<std::size_t>(1, train_losses.size() / 10));
  const double first = train_losses.front(), end = median(std::vector<double>(last.begin(), last.end()));
  if (!(end > kUseless) || !(end > kFactor * first)) return std::nullopt;
  return fmt::format("the training loss rose from {} to {}", significant(first, 3), fmt::format("{:.3g}", end));
}

}  // namespace multicard
