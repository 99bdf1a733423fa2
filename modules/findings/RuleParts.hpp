#pragma once
/// \file What several rules ask; for modules/findings only.

#include <cmath>
#include <cstddef>
#include <string>

#include "base/Percent.hpp"
#include "findings/RunRules.hpp"

namespace multicard {

/// Also where the share is unknown: no.
inline bool is_noticeable(double share) {
  return share >= kNoticeableShare;
}

/// The number of the rank for which `of` is largest; unknown numbers are smaller than any. None without ranks.
template <class Of>
std::size_t worst_rank(const RunFacts& facts, Of&& of) {
  std::size_t worst = facts.ranks.size();
  for (std::size_t rank = 0; rank < facts.ranks.size(); ++rank) {
    const double value = of(facts.ranks[rank]);
    if (std::isfinite(value) && (worst == facts.ranks.size() || value > of(facts.ranks[worst]))) worst = rank;
  }
  return worst;
}

/// The largest loss of any rank.
struct RankLoss {
  std::size_t rank = 0;
  double share = kNone;

  bool is_noticeable() const { return share >= kNoticeableShare; }
};

template <class Of>
RankLoss largest_loss(const RunFacts& facts, Of&& of) {
  const std::size_t rank = worst_rank(facts, of);
  return rank < facts.ranks.size() ? RankLoss{rank, of(facts.ranks[rank])} : RankLoss{};
}

inline RankLoss core_wait(const RunFacts& facts) {
  return largest_loss(facts, [](const RankFacts& rank) { return rank.core_wait; });
}

/// Whether any rank waits for cores so long that its times say nothing about the rest.
inline bool lacks_cores(const RunFacts& facts) {
  return core_wait(facts).share >= kNoticeableCoreWait;
}

/// What to try, and its key.
struct Advice {
  std::string key, text;
};

/// The key by which the deck says how many rows a step has.
inline const char* batch_key(const RunFacts& facts) {
  const std::string per_rank = facts.setting("run.batch_per_rank");
  return per_rank.empty() || per_rank == "null" ? "run.global_batch" : "run.batch_per_rank";
}

inline bool is_on_gpu(const RunFacts& facts) {
  return std::isfinite(facts.device_bytes);
}

}  // namespace multicard
