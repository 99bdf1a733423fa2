#include "scheduling/policy/RankSet.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace multicard {

RankSet::RankSet(int first, int count) : ranks_(static_cast<std::size_t>(count)) {
  std::iota(ranks_.begin(), ranks_.end(), first);
}

RankSet::RankSet(std::vector<int> ranks) : ranks_(std::move(ranks)) {
  std::sort(ranks_.begin(), ranks_.end());
}

bool RankSet::contains(int rank) const {
  return std::binary_search(ranks_.begin(), ranks_.end(), rank);
}

bool RankSet::overlaps(const RankSet& other) const {
  return std::ranges::any_of(ranks_, [&](int rank) { return other.contains(rank); });
}

std::string RankSet::text() const {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < ranks_.size(); begin = end) {
    for (end = begin + 1; end < ranks_.size() && ranks_[end] == ranks_[end - 1] + 1;)
      ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks_[begin]);
    if (end - begin > 1) text += fmt::format("-{}", ranks_[end - 1]);
  }
  return text;
}

std::vector<int> owners_of(const std::vector<RankSet>& sets, int num_ranks) {
  std::vector<int> owners(static_cast<std::size_t>(num_ranks), -1);
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (const int rank : sets[i].ranks())
      owners[static_cast<std::size_t>(rank)] = static_cast<int>(i);
  return owners;
}

std::vector<RankSet> sets_of(const std::vector<int>& owners, std::size_t number) {
  std::vector<std::vector<int>> ranks(number);
  for (std::size_t rank = 0; rank < owners.size(); ++rank)
    if (owners[rank] >= 0) ranks[static_cast<std::size_t>(owners[rank])].push_back(static_cast<int>(rank));
  std::vector<RankSet> sets;
  sets.reserve(number);
  for (std::vector<int>& of_one : ranks)
    sets.emplace_back(std::move(of_one));
  return sets;
}

}  // namespace multicard
