#include "postproc/reduce/NumberText.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard::post {

std::string alike(double value, double reference, int digits) {
  // Decimals such that the reference has `digits` significant ones: 413.4 has 4 - 1 - 2 = 1.
  const int magnitude = reference == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(reference))));
  return fmt::format("{:.{}f}", value, std::clamp(digits - 1 - magnitude, 0, 9));
}

bool is_too_wide(const Estimate& estimate) {
  // Two repeats that differ much have intervals over orders of magnitude (t is 12.7).
  constexpr double kTooWide = 100;
  return estimate.interval && estimate.basis != Basis::none &&
         estimate.interval->high > kTooWide * estimate.interval->low;
}

bool shows_no_difference(const Estimate& ratio) {
  return is_too_wide(ratio) || (ratio.interval->low <= 1 && ratio.interval->high >= 1);
}

std::string range_text(const Estimate& estimate, int digits) {
  if (is_too_wide(estimate)) return "too wide to tell";
  std::string low, high;
  // More digits where both ends would be printed alike.
  for (int more = digits; more < digits + 3 && low == high; ++more) {
    low = alike(estimate.interval->low, estimate.value, more);
    high = alike(estimate.interval->high, estimate.value, more);
  }
  return low + "–" + high;
}

std::string with_interval(const Estimate& estimate, int digits) {
  if (!estimate.known()) return "–";
  if (!estimate.interval) return significant(estimate.value, digits);
  return fmt::format("{} ({})", alike(estimate.value, estimate.value, digits), range_text(estimate, digits));
}

SpeedText speed_text(const Estimate& ratio) {
  const bool is_slower = ratio.value < 1;
  const Estimate shown = is_slower ? reciprocal(ratio) : ratio;
  return {is_slower, alike(shown.value, shown.value, 3) + (is_slower ? " times as long" : " times as fast"),
          shown.interval ? range_text(shown, 3) : std::string(), shown};
}

}  // namespace multicard::post
