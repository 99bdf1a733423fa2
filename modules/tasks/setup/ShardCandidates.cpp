#include "tasks/setup/ShardCandidates.hpp"

#include "tasks/setup/ShardGroups.hpp"

namespace multicard {

std::optional<Gathered> gathered_by(const RunOptions& options, Shard shard) {
  if (splits_weights(shard)) return Gathered::while_computed;
  const bool stay_gathered = shard == Shard::optimizer && splits_trained_blocks(options);
  return stay_gathered ? std::optional(Gathered::until_changed) : std::nullopt;
}

SplittingRanks splitting_ranks(const RunOptions& options, const Topology& topology, int num_ranks,
                               ChangesRanks changes_ranks) {
  const int of_group = static_cast<int>(options.parallel.shard_group.value_or(ranks_of_each_node(topology)));
  const bool are_equal = of_group > 1 && of_group < num_ranks && num_ranks % of_group == 0;
  const bool has_groups = are_equal && changes_ranks == ChangesRanks::no;
  return {num_ranks, has_groups ? of_group : 0};
}

std::vector<ShardCandidate> shard_candidates(const RunOptions& options, const SplittingRanks& ranks) {
  std::vector<ShardCandidate> candidates{{Shard::none, ranks.all}};
  // The state of adapters is small.
  if (!options.is_language() || !options.method.has_adapters()) candidates.push_back({Shard::optimizer, ranks.all});
  if (ranks.of_group > 0) candidates.push_back({Shard::hybrid, ranks.of_group});
  candidates.push_back({Shard::full, ranks.all});
  std::erase_if(candidates, [&](const ShardCandidate& one) {
    return one.shard != Shard::none && !can_be_split(options, one.shard);
  });
  return candidates;
}

}  // namespace multicard
