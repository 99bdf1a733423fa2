#pragma once
/// \file Numbers and names as people read them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace multicard {

/// At most four significant digits, e.g. 0.1234, 12.34, 1234, 1.2e+06 as 1200000.
std::string significant(double value, int digits = 4);
/// 1,234,567
std::string grouped(std::int64_t value);
/// "1 rank", "4 ranks", "1,234 steps": the plural of a regular noun.
std::string counted(std::int64_t count, std::string_view noun);
/// Decimal units: "15.7 MB".
std::string human_bytes(double bytes);
/// "59 s", "4 min 05 s", "2 h 05 min".
std::string human_duration(double seconds);

/// The candidate with the smallest edit distance to `word`, if it is near enough to be a slip of the keyboard.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
/// Replaces a leading `~` and `${VAR}` by the home folder and the environment. An unset variable is a UsageError, and
/// so are one whose name speaks of secrets (base/Secrets.hpp) and a path with control
/// characters in a name that does not exist.
std::string expand_path(std::string_view path);

}  // namespace multicard
