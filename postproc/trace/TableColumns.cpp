#include "postproc/trace/TableColumns.hpp"

#include <algorithm>
#include <cmath>

#include "base/Shown.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard::post {

std::string time_text(double ns) {
  if (!std::isfinite(ns)) return "–";
  if (std::abs(ns) >= 1e9) return significant(ns / 1e9) + " s";
  if (std::abs(ns) >= 1e6) return significant(ns / 1e6) + " ms";
  if (std::abs(ns) >= 1e3) return significant(ns / 1e3) + " µs";
  return significant(ns) + " ns";
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 60;
  std::string name = shown(text);
  std::ranges::replace_if(
      name, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  if (num_characters(name) <= kMost) return name;
  std::size_t end = 0;
  for (std::size_t i = 0; i < kMost - 1; ++i)
    end += utf8_length(name[end]);
  return name.substr(0, end) + "…";
}

}  // namespace multicard::post
