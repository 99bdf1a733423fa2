#include "run/ShardChoice.hpp"

#include <cmath>
#include <map>
#include <utility>

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

/// Of gigabytes by the way to split; ways without a number are impossible, and 0 finds no memory to be measured.
class KnownPredictions final : public ShardPredictions {
 public:
  explicit KnownPredictions(std::map<Shard, double> sizes) : sizes_(std::move(sizes)) {}

  bool can(Shard shard) const override { return sizes_.contains(shard); }
  MemoryEstimate of(const ShardCandidate& candidate) override {
    const double size = sizes_.at(candidate.shard);
    TORCH_CHECK_WITH(OutOfMemoryError, size > 0, "no memory");
    MemoryEstimate estimate;
    estimate.parameters = std::llround(1e9 * size);
    return estimate;
  }

 private:
  std::map<Shard, double> sizes_;
};

ShardChoice chosen(std::map<Shard, double> sizes) {
  KnownPredictions predictions(std::move(sizes));
  const std::vector<ShardCandidate> candidates{
      {Shard::none, 8}, {Shard::optimizer, 8}, {Shard::hybrid, 4}, {Shard::full, 8}};
  return choose_shard(candidates, predictions, at::kCPU, 10'000'000'000);
}

TEST(ShardChoice, IsTheFirstThatFits) {
  const auto with_none = [](double none) {
    return chosen({{Shard::none, none}, {Shard::optimizer, 12}, {Shard::hybrid, 9}, {Shard::full, 6}});
  };

  EXPECT_EQ(with_none(10).shard, Shard::none);
  EXPECT_EQ(with_none(10).reason, "none (auto): a rank has 10 GB, of which it takes 10 GB");
  EXPECT_EQ(with_none(20).shard, Shard::hybrid);
  EXPECT_EQ(with_none(20).reason,
            "hybrid (auto): a rank has 10 GB, of which it takes 9 GB; none would take 20 GB, optimizer 12 GB");
}

TEST(ShardChoice, IsWhatTakesLeastWhereNothingFits) {
  const ShardChoice found = chosen({{Shard::none, 20}, {Shard::optimizer, 12}, {Shard::hybrid, 14}, {Shard::full, 13}});

  EXPECT_EQ(found.shard, Shard::optimizer);
  EXPECT_NE(found.reason.find("too little for any of them; none would take 20 GB"), std::string::npos);
}

TEST(ShardChoice, LeavesOutWhatIsImpossible) {
  EXPECT_EQ(chosen({{Shard::none, 20}, {Shard::full, 6}}).shard, Shard::full);
  EXPECT_EQ(chosen({{Shard::none, 20}, {Shard::optimizer, 15}}).shard, Shard::optimizer);
}

TEST(ShardChoice, IsTheLastWhereNothingCanBeMeasured) {
  const ShardChoice found = chosen({{Shard::none, 0}, {Shard::optimizer, 0}});

  EXPECT_EQ(found.shard, Shard::optimizer);
  EXPECT_EQ(found.reason, "optimizer (auto): the device has too little memory to measure the model");
}

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
