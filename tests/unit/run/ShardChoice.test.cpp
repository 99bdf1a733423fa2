#include "run/ShardChoice.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(ShardChoice, IsFoundInWhatACheckpointKeeps) {
  TrainerState state;
  ShardChoice{Shard::hybrid, "why", 8}.add_to(state);

  const std::optional<ShardChoice> found = choice_in(state);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shard, Shard::hybrid);
  EXPECT_EQ(found->num_ranks, 8);
  EXPECT_EQ(found->reason, "hybrid (auto): as before");

  TrainerState said;
  ShardChoice{Shard::full}.add_to(said);
  EXPECT_FALSE(choice_in(said)) << "the deck said it";
  for (const char* word : {"auto", "all", ""}) {
    state.text[kChosenShard] = word;
    EXPECT_FALSE(choice_in(state)) << word;
  }
}

}  // namespace
}  // namespace multicard
