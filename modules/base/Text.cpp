#include "base/Text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Secrets.hpp"
#include "base/Shown.hpp"

namespace multicard {

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  // Digits before the point are never rounded away, however many: a count stays a count.
  if (magnitude < -4) return fmt::format("{:.{}e}", value, digits - 1);
  std::string text = fmt::format("{:.{}f}", value, std::max(0, digits - 1 - magnitude));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return value < 0 ? "-" + digits : digits;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string human_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  while (std::abs(bytes) >= 1000 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  return significant(bytes, 3) + " " + kUnits[unit];
}

std::string human_duration(double seconds) {
  if (seconds < 10) return significant(seconds, 2) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Levenshtein's distance with one row of the table: `diagonal` is the entry of the row above and the column before.
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  // Two slips in a short word, one letter in three of a long one; of equal distances the first candidate wins.
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator, from)) {
    parts.emplace_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.emplace_back(text.substr(from));
  return parts;
}

namespace {

/// Names that others gave are taken as they are; a new one was hardly meant so, and what follows a NUL would be lost.
void require_no_new_control_characters(const std::string& path) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  const auto last = std::find_if(path.rbegin(), path.rend(), is_control).base();
  if (last == path.begin()) return;
  const std::string named(path.begin(), std::find(last, path.end(), '/'));
  std::error_code ignored;
  if (path.find('\0') == std::string::npos && std::filesystem::exists(named, ignored)) return;
  throw UsageError(fmt::format("path '{}' has a control character", shown(path)), "no file should be named so",
                   "Write it without one; in double quotes YAML reads \\0 or \\n as such.");
}

}  // namespace

std::string expand_path(std::string_view path) {
  // Once, from left to right: what a variable holds is taken as it is, also where it looks like another variable.
  std::string out;
  std::size_t at = 0;
  if (!path.empty() && path[0] == '~' && (path.size() == 1 || path[1] == '/')) {
    if (const char* home = std::getenv("HOME")) {
      out = home;
      at = 1;
    }
  }
  while (at < path.size()) {
    const std::size_t dollar = path.find("${", at);
    out += path.substr(at, dollar - at);
    if (dollar == std::string_view::npos) break;
    const std::size_t close = path.find('}', dollar);
    if (close == std::string_view::npos) throw UsageError(fmt::format("path '{}' has '${{' without '}}'", path));
    const std::string name(path.substr(dollar + 2, close - dollar - 2));
    const char* value = std::getenv(name.c_str());
    if (speaks_of_secrets(name))
      throw UsageError(fmt::format("path '{}' names the variable {}", path, name),
                       "it may hold a secret, and decks are stored with the results",
                       "Write the path out, or give the variable another name.");
    if (!value)
      throw UsageError(fmt::format("path '{}' names the variable {}", path, name), "it is not set",
                       "Export it, or write the path out.");
    out += value;
    at = close + 1;
  }
  require_no_new_control_characters(out);
  return out;
}

}  // namespace multicard
