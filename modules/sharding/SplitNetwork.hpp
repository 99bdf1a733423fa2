#pragma once
/// \file Networks of images whose blocks are split once they are there.

#include <memory>

#include "nn/vision/Network.hpp"
#include "sharding/ShardedBlocks.hpp"

namespace multicard {

/// Collective. Splits the convolutions that are trained (Network::block_weights(), some) over ranks, which have the
/// same network with the same values. What is not in a block, or frozen, stays whole. The network is on its device, in
/// its layout. \param ranks used as long as the network \return the network's hooks
std::shared_ptr<ShardedBlocks> split_network(Network& network, const ShardRanks& ranks,
                                             ShardedBlocks::Leftovers leftovers = ShardedBlocks::Leftovers::kept);

}  // namespace multicard
