#include "data/BadInputs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

std::vector<BadInput> merge_bad(const std::vector<BadInput>& mine, const Communicator& communicator) {
  std::string text;
  for (const BadInput& bad : mine)
    text += fmt::format("{}{}{}{}", bad.index, '\0', bad.why, '\0');
  std::vector<BadInput> all;
  for (const std::string& part : communicator.allgather(text)) {
    const std::vector<std::string> fields = split(part, '\0');
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
      all.push_back({std::stoll(fields[i]), fields[i + 1]});
  }
  return all;
}

void report_bad(const std::vector<BadInput>& bad, const std::string& singular, const std::string& plural) {
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
