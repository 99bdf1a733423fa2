#include "base/SharedPages.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>

namespace multicard {

namespace {

std::atomic<std::int64_t> own_bytes{0}, other_bytes{0};

}  // namespace

void count_shared_pages(std::int64_t own, std::int64_t others) {
  own_bytes += own;
  other_bytes += others;
}

std::int64_t resident_bytes_of_others() {
  if (other_bytes == 0) return 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("RssShmem:")) continue;
    const std::int64_t shared = std::stoll(line.substr(9)) * 1024;
    return std::clamp<std::int64_t>(shared - own_bytes, 0, other_bytes);
  }
  return 0;
}

}  // namespace multicard
