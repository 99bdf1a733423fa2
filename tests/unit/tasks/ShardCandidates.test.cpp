#include "tasks/setup/ShardCandidates.hpp"

#include <gtest/gtest.h>

#include "config/Deck.hpp"

namespace multicard {
namespace {

RunOptions options_of(const std::string& more) {
  return read_run_options(
      Deck::parse("task: llm\nmodel: {path: m}\ndata: {train: t.h5}\nparallel: {shard: auto}\n" + more, "x.yaml"));
}

/// Of nodes with these numbers of ranks, which follow each other.
Topology nodes(const std::vector<int>& ranks) {
  Topology topology{Communicator::null(), 0, 0, ranks.front(), static_cast<int>(ranks.size()), {}, {}};
  for (const int of_node : ranks)
    topology.nodes.insert(topology.nodes.end(), static_cast<std::size_t>(of_node),
                          static_cast<int>(topology.nodes.size()));
  return topology;
}

using Candidates = std::vector<ShardCandidate>;

Candidates candidates(const RunOptions& options, const Topology& topology, int num_ranks,
                      ChangesRanks changes_ranks = ChangesRanks::no) {
  return shard_candidates(options, splitting_ranks(options, topology, num_ranks, changes_ranks));
}

TEST(ShardCandidates, ComeByWhatTheySend) {
  const RunOptions full = options_of("method: {name: full}");

  EXPECT_EQ(candidates(full, nodes({8}), 8), (Candidates{{Shard::none, 8}, {Shard::optimizer, 8}, {Shard::full, 8}}));
  EXPECT_EQ(candidates(full, nodes({4, 4}), 8),
            (Candidates{{Shard::none, 8}, {Shard::optimizer, 8}, {Shard::hybrid, 4}, {Shard::full, 8}}));
  EXPECT_EQ(candidates(full, nodes({4, 4}), 8, ChangesRanks::yes),
            (Candidates{{Shard::none, 8}, {Shard::optimizer, 8}, {Shard::full, 8}}));
}

TEST(ShardCandidates, LeaveOutWhatCannotBeSplit) {
  const RunOptions full = options_of("method: {name: full}"), lora = options_of("method: {name: lora, rank: 4}");
  const RunOptions averaged = options_of("method: {name: full}\nrun: {ema_decay: 0.9}");

  EXPECT_EQ(candidates(full, nodes({2, 1, 3}), 6).size(), 3U) << "nodes have 2, 1 and 3 ranks";
  EXPECT_EQ(candidates(full, nodes({1, 1, 1, 1}), 4).size(), 3U) << "nodes have one rank";
  Topology by_turns = nodes({2, 2});
  by_turns.nodes = {0, 1, 0, 1};
  EXPECT_EQ(candidates(full, by_turns, 4).size(), 3U) << "ranks of a node do not follow each other";
  EXPECT_EQ(candidates(lora, nodes({4}), 4), (Candidates{{Shard::none, 4}, {Shard::full, 4}}));
  EXPECT_EQ(candidates(averaged, nodes({2, 2}), 4), (Candidates{{Shard::none, 4}, {Shard::optimizer, 4}}));
}

TEST(ShardCandidates, OfImagesAreThoseOfTrainedWeights) {
  const auto images = [](const std::string& more) {
    return read_run_options(
        Deck::parse("model: {name: resnet18}\ndata: {train: t.h5}\nparallel: {shard: auto}\n" + more, "x.yaml"));
  };

  EXPECT_EQ(candidates(images(""), nodes({2, 2}), 4),
            (Candidates{{Shard::none, 4}, {Shard::optimizer, 4}, {Shard::hybrid, 2}, {Shard::full, 4}}));
  EXPECT_EQ(candidates(images("run: {ema_decay: 0.9}"), nodes({4}), 4),
            (Candidates{{Shard::none, 4}, {Shard::optimizer, 4}}));
}

}  // namespace
}  // namespace multicard
