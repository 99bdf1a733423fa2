#include "tasks/setup/ShardGroups.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "tasks/setup/ShardCandidates.hpp"

namespace multicard {

namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& why) {
  throw EnvironmentError(
      problem, why, "Set parallel.shard_group to a divisor above 1 of the number of ranks, or parallel.shard=full.")
      .on_all_ranks();
}

int ranks_of_a_node(const Topology& topology) {
  const int size = ranks_of_each_node(topology);
  if (size == 0)
    throw EnvironmentError(
        "parallel.shard=hybrid needs equally many consecutive ranks on each node",
        fmt::format("the {} ranks of {} nodes are placed otherwise", topology.nodes.size(), topology.num_nodes),
        "Start as many on each node, one node after the other (mpirun --map-by slot, the default), or "
        "set parallel.shard_group or parallel.shard=full.")
        .on_all_ranks();
  return size;
}

/// What is not `hybrid` splits over all ranks.
void check_group_of_all(const ParallelOptions& options, int num_ranks) {
  if (options.shard == Shard::hybrid || !options.shard_group || num_ranks == 1 || *options.shard_group == num_ranks)
    return;
  const std::string_view word = word_of(options.shard, kShardWords);
  throw EnvironmentError(fmt::format("{} ranks cannot form groups of {}", num_ranks, *options.shard_group),
                         fmt::format("parallel.shard={} splits over all ranks", word),
                         "Set parallel.shard=hybrid, or leave parallel.shard_group out.")
      .on_all_ranks();
}

int group_size(const ParallelOptions& options, const Topology& topology, int num_ranks) {
  const int size = options.shard_group ? static_cast<int>(*options.shard_group) : ranks_of_a_node(topology);
  if (size == 1)
    refuse("each rank would be a group of its own, which splits nothing",
           options.shard_group ? "parallel.shard_group is 1" : "every node has one rank");
  if (num_ranks % size != 0)
    refuse(fmt::format("{} ranks cannot form groups of {}", num_ranks, size),
           "their number is not a multiple of parallel.shard_group");
  return size;
}

void add(std::map<std::string, CommunicationTotals>& to, const std::map<std::string, CommunicationTotals>& more) {
  for (const auto& [kind, totals] : more)
    to.try_emplace(kind, CommunicationTotals{.seconds_skew = 0}).first->second.add(totals);
}

}  // namespace

int ranks_of_each_node(const Topology& topology) {
  const std::vector<int>& nodes = topology.nodes;
  const auto size = std::max(1, static_cast<int>(std::count(nodes.begin(), nodes.end(), nodes.front())));
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    if (nodes[rank] != static_cast<int>(rank) / size * size || nodes.size() % static_cast<std::size_t>(size) != 0)
      return 0;
  return size;
}

// Ranks that follow each other form a group; those with the same place in their groups hold the same part.
ShardGroups::ShardGroups(const RunOptions& run, const Communicator& communicator, const Topology& topology,
                         TensorCollectives& all)
    : all_(all) {
  const ParallelOptions& options = run.parallel;
  check_group_of_all(options, communicator.size());
  const std::optional<Gathered> gathered = gathered_by(run, options.shard);
  if (communicator.size() == 1 || !gathered) return;
  ranks_.group = &all;
  ranks_.gathered = *gathered;
  if (options.shard != Shard::hybrid) return;
  const int size = group_size(options, topology, communicator.size());
  if (size == communicator.size()) return;
  const int rank = communicator.rank();
  const auto of = [&](int color) {
    return make_collectives(options.backend, communicator.split(color, rank, Watched::together), all.device(),
                            options.hierarchy);
  };
  group_ = of(rank / size);
  copies_ = of(rank % size);
  group_->set_group({rank / size * size, 1, size});
  copies_->set_group({rank % size, size, communicator.size() / size});
  ranks_ = {group_.get(), copies_.get()};
}

ReceivedByRank ShardGroups::received() const {
  ReceivedByRank received = all_.received();
  for (const auto* more : {group_.get(), copies_.get()}) {
    if (more == nullptr) continue;
    for (const auto& [from, totals] : more->received()) {
      const int first = all_.rank() / group_->size() * group_->size();
      ReceivedTotals& sum = received[more == group_.get() ? first + from : from * group_->size() + group_->rank()];
      sum.bytes += totals.bytes;
      sum.seconds += totals.seconds;
    }
  }
  return received;
}

std::map<std::string, CommunicationTotals> ShardGroups::totals() const {
  std::map<std::string, CommunicationTotals> totals = all_.totals();
  for (TensorCollectives* more : {group_.get(), copies_.get()})
    if (more != nullptr) add(totals, more->totals());
  return totals;
}

}  // namespace multicard
