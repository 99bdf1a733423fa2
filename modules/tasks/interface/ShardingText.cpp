#include "tasks/interface/ShardingText.hpp"

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

std::string sharding_text(const ShardRanks& ranks, std::int64_t held) {
  const char* const way = ranks.copies ? "hybrid" : ranks.gathered == Gathered::until_changed ? "optimizer" : "full";
  std::string text = fmt::format("{} over {}", way, counted(ranks.group->size(), "rank"));
  if (ranks.copies) text += fmt::format(", {} copies", ranks.copies->size());
  return text + fmt::format(", {} of weights on each, buffers included", human_bytes(static_cast<double>(held)));
}

}  // namespace multicard
