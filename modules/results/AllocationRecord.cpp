#include "results/AllocationRecord.hpp"

#include <algorithm>
#include <charconv>

namespace multicard {

namespace {

constexpr std::int64_t kMostRank = 1 << 21;

/// Reads a number at `at`, which then is after it; false where there is none.
bool take_number(std::string_view text, std::size_t& at, std::int64_t& number) {
  const auto [rest, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || number > kMostRank) return false;
  at = static_cast<std::size_t>(rest - text.data());
  return true;
}

}  // namespace

std::vector<RankRun> rank_runs(const AllocationInterval& interval) {
  if (interval.rank_list.empty()) return {{interval.first_rank, interval.first_rank + interval.ranks - 1}};
  const std::string_view text = interval.rank_list;
  std::vector<RankRun> runs;
  for (std::size_t at = 0;;) {
    RankRun run;
    if (!take_number(text, at, run.first)) return {};
    run.last = run.first;
    if (at < text.size() && text[at] == '-' && !take_number(text, ++at, run.last)) return {};
    if (run.last < run.first || (!runs.empty() && run.first <= runs.back().last)) return {};
    runs.push_back(run);
    if (at == text.size()) return runs;
    if (text.substr(at, 2) != ", ") return {};
    at += 2;
  }
}

bool has_rank(const AllocationInterval& interval, std::int64_t rank) {
  return std::ranges::any_of(rank_runs(interval),
                             [&](const RankRun& run) { return rank >= run.first && rank <= run.last; });
}

}  // namespace multicard
