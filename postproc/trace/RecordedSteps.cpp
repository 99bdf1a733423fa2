#include "postproc/trace/RecordedSteps.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard::post {

std::string rank_list(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kMostPieces = 12;
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin < ranks.size();) {
    if (pieces.size() == kMostPieces)
      return fmt::format("{} and {} more", join(pieces, ", "),
                         grouped(static_cast<std::int64_t>(ranks.size() - begin)));
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
      ++end;
    pieces.push_back(end == begin + 1 ? std::to_string(ranks[begin])
                                      : fmt::format("{}-{}", ranks[begin], ranks[end - 1]));
    begin = end;
  }
  return join(pieces, ", ");
}

std::string recorded_text(const std::vector<RecordedSteps>& recorded) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_steps;
  for (const RecordedSteps& of : recorded)
    if (of.steps > 0) by_steps[of.steps].push_back(of.rank);
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> sets(by_steps.begin(), by_steps.end());
  std::ranges::stable_sort(sets, std::greater(), [](const auto& set) { return set.second.size(); });
  std::vector<std::string> parts;
  parts.reserve(sets.size());
  for (const auto& [steps, ranks] : sets)
    parts.push_back(fmt::format("{} of {} {}", counted(steps, "step"), ranks.size() == 1 ? "rank" : "each of ranks",
                                rank_list(ranks)));
  return join(parts, ", ");
}

}  // namespace multicard::post
