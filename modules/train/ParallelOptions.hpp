#pragma once
/// \file What a deck says of its ranks.

#include <cstdint>
#include <optional>

#include "config/DeckKey.hpp"
#include "config/Words.hpp"
#include "device/ComputeOptions.hpp"
#include "dist/ExchangeOptions.hpp"

namespace multicard {

/// parallel.strategy: who reads, reduces and updates (docs/decks.md, Strategies)
enum class StrategyName { dp, ddp, ddp_ds };
inline constexpr Word<StrategyName> kStrategyWords[] = {
    {"dp", StrategyName::dp}, {"ddp", StrategyName::ddp}, {"ddp-ds", StrategyName::ddp_ds}};

/// parallel.shard: what is split over the ranks instead of being held by each (docs/sharding.md). `automatic` is what
/// a deck says alone: a run replaces it (run/ShardChoice.hpp).
enum class Shard { none, optimizer, full, hybrid, automatic };
inline constexpr Word<Shard> kShardWords[] = {{"none", Shard::none},
                                              {"optimizer", Shard::optimizer},
                                              {"full", Shard::full},
                                              {"hybrid", Shard::hybrid},
                                              {"auto", Shard::automatic}};

/// Whether the weights of a network are split, and no rank has all of them.
constexpr bool splits_weights(Shard shard) {
  return shard == Shard::full || shard == Shard::hybrid;
}

/// Where trainer.json names, in its texts, what a run with `auto` has chosen.
inline constexpr const char* kChosenShard = "chosen_shard";

struct ParallelOptions : ExchangeOptions {
  StrategyName strategy = StrategyName::ddp_ds;
  Shard shard = Shard::none;
  std::optional<std::int64_t> shard_group = {};  ///< ranks that share one copy; by default all, of hybrid a node's
  bool sync_batch_norm = false;                  ///< BatchNorm statistics over all ranks
  ShareGpu share_gpu = ShareGpu::no;

  bool splits_weights() const { return multicard::splits_weights(shard); }
  /// One rank holds them whole.
  bool splits_weights(int num_ranks) const { return splits_weights() && num_ranks > 1; }
};

/// Whether the network can have BatchNorm.
enum class HasBatchNorm { no, yes };

/// \param parallel the section parallel
ParallelOptions read_parallel_options(Section& parallel, HasBatchNorm batch_norm);

/// The rows of the keys whose values this module defines.
DeckKeys parallel_keys();

}  // namespace multicard
