#include "base/Percent.hpp"

#include <cmath>

#include <fmt/format.h>

namespace multicard {

std::string percent(double share) {
  if (!std::isfinite(share)) return "–";
  const double value = 100 * share;
  // Rounded to 0.0 %, a small share would look like none.
  if (value != 0 && std::abs(value) < 0.1) return "< 0.1 %";
  return fmt::format("{:.1f} %", value);
}

}  // namespace multicard
