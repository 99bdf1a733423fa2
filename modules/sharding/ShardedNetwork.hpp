#pragma once
/// \file Networks of which no rank ever holds or reads the whole.

#include <cstdint>
#include <memory>

#include "dist/TensorCollectives.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "sharding/ShardedBlocks.hpp"

namespace multicard {

/// A network whose blocks are split over ranks (ShardedBlocks), and what it took to make it.
struct ShardedNetwork {
  std::unique_ptr<Llama> network;
  std::shared_ptr<ShardedBlocks> blocks = {};  ///< the network's
  std::uint64_t bytes_read = 0;                ///< that this rank has asked the files for
  bool is_filled = true;                       ///< not where another rank has failed
};

/// Collective. The network of load_network(), with the same weights. Each rank reads the small tensors, its part of the
/// blocks and, of ends that are not split, all; of weights that are packed each is read, and packed, by one rank.
/// Memory is taken for one whole block at a time.
///
/// Weights that are not packed are parameters (ShardedBlocks::set_parameters()).
///
/// Where ranks fail, they throw, and the others return a network that is not filled: callers agree on errors next.
/// \param ranks used as long as the network
ShardedNetwork load_sharded_network(const NetworkPlan& plan, const ShardRanks& ranks,
                                    ShardedBlocks::Leftovers leftovers = ShardedBlocks::Leftovers::kept);

/// What is split of such a network, for its sizes. Takes no memory.
std::vector<SplitBlock> split_blocks_of(const NetworkPlan& plan);

}  // namespace multicard
