#include "data/loading/Sampler.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/SplitMix64.hpp"

namespace multicard {
namespace {

using Rows = std::vector<std::int64_t>;

Rows all_rows_of_epoch(const Sampler& sampler, std::int64_t epoch, int num_ranks) {
  Rows rows;
  for (std::int64_t step = epoch * sampler.steps_per_epoch(); step < (epoch + 1) * sampler.steps_per_epoch(); ++step)
    for (int rank = 0; rank < num_ranks; ++rank) {
      const Rows part = sampler.part(step, rank, num_ranks);
      rows.insert(rows.end(), part.begin(), part.end());
    }
  return rows;
}

Rows counted(std::int64_t count) {
  Rows rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(Sampler, GivesEveryRowOnceAnEpochWhateverTheRanks) {
  for (const std::int64_t num_rows : {1, 2, 7, 64, 65, 100})
    for (const std::int64_t batch : {1, 3, 8, 64, 200})
      for (const int num_ranks : {1, 2, 3, 4, 7}) {
        const Sampler sampler({num_rows, batch, 5, true, false});

        const Rows rows = all_rows_of_epoch(sampler, 1, num_ranks);

        EXPECT_EQ(rows, all_rows_of_epoch(sampler, 1, 1)) << num_rows << " rows, batch " << batch;
        Rows sorted = rows;
        std::sort(sorted.begin(), sorted.end());
        EXPECT_EQ(sorted, counted(num_rows)) << num_rows << " rows, batch " << batch << ", ranks " << num_ranks;
      }
}

TEST(Sampler, GivesTheFirstRanksOneRowMore) {
  const Sampler sampler({11, 8, 1, false, false});

  EXPECT_EQ(sampler.part(0, 0, 3), (Rows{0, 1, 2}));
  EXPECT_EQ(sampler.part(0, 1, 3), (Rows{3, 4, 5}));
  EXPECT_EQ(sampler.part(0, 2, 3), (Rows{6, 7}));
  EXPECT_EQ(sampler.part(1, 0, 4), (Rows{8}));
  EXPECT_EQ(sampler.part(1, 3, 4), (Rows{}));
  EXPECT_EQ(sampler.rows_in(0), 8);
  EXPECT_EQ(sampler.rows_in(1), 3);
}

TEST(Sampler, KeepsTheOrderOfTheShardsWithoutShuffling) {
  const Sampler sampler({10, 4, 1, false, false});

  EXPECT_EQ(sampler.rows(0), (Rows{0, 1, 2, 3}));
  EXPECT_EQ(sampler.rows(2), (Rows{8, 9}));
  EXPECT_EQ(sampler.rows(3), (Rows{0, 1, 2, 3}));
}

TEST(Sampler, IsAFunctionOfTheStepAlone) {
  const Sampler forward({50, 8, 3, true, false}), jumping({50, 8, 3, true, false});
  std::vector<Rows> in_order;
  for (std::int64_t step = 0; step < 21; ++step)
    in_order.push_back(forward.rows(step));

  for (const std::int64_t step : {20, 3, 9, 0, 15, 3})
    EXPECT_EQ(jumping.rows(step), in_order[static_cast<std::size_t>(step)]);
}

TEST(Sampler, ChangesTheOrderWithEpochAndSeed) {
  const Sampler one({100, 100, 1, true, false}), two({100, 100, 2, true, false});

  EXPECT_NE(one.rows(0), one.rows(1));
  EXPECT_NE(one.rows(0), two.rows(0));
  EXPECT_NE(one.rows(1), two.rows(0));
  EXPECT_NE(one.rows(0), counted(100));
}

TEST(Sampler, ShufflesEvenly) {
  constexpr std::int64_t kRows = 5, kEpochs = 20000;
  const Sampler sampler({kRows, kRows, 9, true, false});
  std::vector<std::vector<int>> times(kRows, std::vector<int>(kRows));

  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Rows rows = sampler.rows(epoch);
    for (std::size_t place = 0; place < rows.size(); ++place)
      ++times[static_cast<std::size_t>(rows[place])][place];
  }

  // Binomial with mean 4000 and standard deviation 57.
  for (const auto& of_row : times)
    for (const int count : of_row)
      EXPECT_NEAR(count, static_cast<double>(kEpochs) / kRows, 5 * 57);
}

TEST(Sampler, HasTheSameOrderOnEveryMachine) {
  // Worked out apart from the program, from the definition in the header.
  const Sampler sampler({10, 10, 7, true, false});

  EXPECT_EQ(sampler.rows(0), (Rows{8, 6, 5, 0, 2, 4, 3, 1, 9, 7}));
  EXPECT_EQ(sampler.rows(1), (Rows{3, 4, 0, 5, 2, 9, 6, 7, 8, 1}));
}

TEST(Sampler, UsesTheGeneratorOfThePaper) {
  // First outputs of SplitMix64 started at 0 and at 1234567 (as Rosetta Code lists them).
  EXPECT_EQ(splitmix64(0, 0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(splitmix64(1234567, 0), 6457827717110365317u);
  EXPECT_EQ(splitmix64(1234567, 4), 16408922859458223821u);
}

TEST(Sampler, DropsTheShortLastBatchWhenAsked) {
  const Sampler sampler({10, 4, 1, true, true});

  EXPECT_EQ(sampler.steps_per_epoch(), 2);
  EXPECT_EQ(sampler.rows(3).size(), 4u);
  EXPECT_EQ(sampler.epoch_of(3), 1);
  EXPECT_EQ(all_rows_of_epoch(sampler, 0, 3).size(), 8u);
}

TEST(Sampler, RefusesWhatHasNoBatches) {
  EXPECT_THROW(Sampler({0, 4, 1, true, false}), UsageError);
  EXPECT_THROW(Sampler({4, 0, 1, true, false}), UsageError);
  EXPECT_THROW(Sampler({3, 4, 1, true, true}), UsageError);
}

}  // namespace
}  // namespace multicard
