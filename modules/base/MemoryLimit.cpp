#include "base/MemoryLimit.hpp"

#include <algorithm>
#include <fstream>

namespace multicard {

namespace {

/// The first number in a file; nullopt when there is none ("max" in a group without a limit).
std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

std::int64_t inactive_file_bytes(const std::string& stat) {
  std::ifstream file(stat);
  std::string name;
  for (std::int64_t value = 0; file >> name >> value;)
    if (name == "inactive_file") return value;
  return 0;
}

}  // namespace

std::optional<std::int64_t> memory_left_in(const std::string& folder) {
  const std::optional<std::int64_t> limit = number_in(folder + "/memory.max");
  if (!limit || *limit < 0) return std::nullopt;
  // memory.current counts cached pages of files too. Only the inactive ones are taken off: active ones are given up
  // late, at the cost of reading them again and again.
  const std::int64_t current = number_in(folder + "/memory.current").value_or(0);
  const std::int64_t in_use = std::max<std::int64_t>(0, current - inactive_file_bytes(folder + "/memory.stat"));
  return std::max<std::int64_t>(0, *limit - in_use);
}

}  // namespace multicard
