#include "prepare/files/BadInputs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

std::vector<BadInput> merge_bad(const std::vector<BadInput>& mine, const Communicator& communicator) {
  std::string text;
  for (const BadInput& bad : mine)  // with its length, since a reason quotes an input and may hold any byte
    text += fmt::format("{} {} {}", bad.index, bad.why.size(), bad.why);
  std::vector<BadInput> all;
  for (const std::string& part : communicator.allgather(text))
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t end_of_index = part.find(' ', at), end_of_size = part.find(' ', end_of_index + 1);
      const std::size_t size = std::stoull(part.substr(end_of_index + 1, end_of_size - end_of_index - 1));
      all.push_back({std::stoll(part.substr(at, end_of_index - at)), part.substr(end_of_size + 1, size)});
      at = end_of_size + 1 + size;
    }
  return all;
}

void report_bad(const std::vector<BadInput>& bad, const std::string& singular, const std::string& plural) {
  // A damaged disk or the wrong --type can make millions of inputs bad; the first reasons say which it is.
  constexpr std::size_t kMostLines = 20;
  if (bad.empty()) return;
  std::string text = fmt::format("{} unreadable {} left out:", grouped(static_cast<std::int64_t>(bad.size())),
                                 bad.size() == 1 ? singular + " is" : plural + " are");
  for (std::size_t i = 0; i < std::min(bad.size(), kMostLines); ++i)
    text += "\n  " + bad[i].why;
  if (bad.size() > kMostLines) text += fmt::format("\n  and {} more", bad.size() - kMostLines);
  log_warning(text);
}

}  // namespace multicard
