#include "data/loading/DatasetMixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/SplitMix64.hpp"
#include "data/loading/Sampler.hpp"

namespace multicard {
namespace {

using Rows = std::vector<std::int64_t>;

SamplerOptions mixed(std::vector<MixedSet> sets, std::int64_t batch, bool shuffle = true) {
  SamplerOptions options;
  for (const MixedSet& set : sets)
    options.num_rows += set.num_rows;
  options.global_batch = batch;
  options.seed = 5;
  options.shuffle = shuffle;
  options.sets = std::move(sets);
  return options;
}

/// The rows of set `set` among those of the steps [first, end), in their order, counted from the set's first.
Rows rows_of(const Sampler& sampler, std::size_t set, std::int64_t first, std::int64_t end) {
  const std::vector<MixedSet>& sets = sampler.options().sets;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < set; ++i)
    begin += sets[i].num_rows;
  Rows found;
  for (std::int64_t step = first; step < end; ++step)
    for (const std::int64_t row : sampler.rows(step))
      if (row >= begin && row < begin + sets[set].num_rows) found.push_back(row - begin);
  return found;
}

TEST(DatasetMixture, SharesAnEpochByWeights) {
  EXPECT_EQ(DatasetMixture({{100, 1}, {100, 1}}).shares(), (Rows{100, 100}));
  EXPECT_EQ(DatasetMixture({{100, 3}, {100, 1}}).shares(), (Rows{150, 50}));
  EXPECT_EQ(DatasetMixture({{10, 0.7}, {1000, 0.3}}).shares(), (Rows{707, 303}));
  EXPECT_EQ(DatasetMixture({{3, 1}, {3, 1}, {4, 1}}).shares(), (Rows{4, 3, 3})) << "the first of equal remainders";
  EXPECT_EQ(DatasetMixture({{5, 5}, {3, 3}, {2, 2}}).shares(), (Rows{5, 3, 2})) << "every row once";
  EXPECT_EQ(DatasetMixture({{5, 1e-300}, {5, 1e-300}}).shares(), (Rows{5, 5}));
}

TEST(DatasetMixture, RefusesSetsThatWouldNotBeRead) {
  EXPECT_THROW(DatasetMixture({{100, 1}, {100, 1e-6}}), UsageError);
  EXPECT_THROW(DatasetMixture({{100, 1}, {100, 0}}), UsageError);
  EXPECT_THROW(DatasetMixture({{100, 1}, {100, -1}}), UsageError);
}

TEST(DatasetMixture, GivesEveryRowOfASetBeforeAnyComesAgain) {
  const Sampler sampler(mixed({{7, 3}, {50, 1}, {20, 2}}, 6));
  const std::int64_t steps = 10 * sampler.steps_per_epoch();
  for (std::size_t set = 0; set < 3; ++set) {
    // Within an epoch the order is shuffled through all passes: what is exact is each epoch's share of the passes.
    const std::int64_t size = sampler.options().sets[set].num_rows, share = sampler.mix()->shares()[set];
    std::map<std::int64_t, std::int64_t> times;
    for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
      const std::int64_t first = epoch * sampler.steps_per_epoch();
      const Rows rows = rows_of(sampler, set, first, first + sampler.steps_per_epoch());
      EXPECT_EQ(static_cast<std::int64_t>(rows.size()), share) << set;
      for (const std::int64_t row : rows)
        ++times[row];
      std::int64_t least = INT64_MAX, most = 0;
      for (std::int64_t row = 0; row < size; ++row) {
        least = std::min(least, times[row]);
        most = std::max(most, times[row]);
      }
      EXPECT_LE(most - least, 1) << "set " << set << " epoch " << epoch;
    }
    EXPECT_EQ(rows_of(sampler, set, 0, steps).size(), static_cast<std::size_t>(10 * share));
  }
}

TEST(DatasetMixture, ShufflesEveryPassAnew) {
  const DatasetMixture mix({{8, 1}, {8, 1}});
  std::set<Rows> orders;
  for (std::int64_t epoch = 0; epoch < 6; ++epoch) {
    const Rows rows = mix.rows(epoch, 3, RowOrder::shuffled);
    for (const auto begin : {0, 8}) {
      Rows pass(rows.begin() + begin, rows.begin() + begin + 8);
      for (std::int64_t& row : pass)
        row -= begin;
      orders.insert(pass);
      std::sort(pass.begin(), pass.end());
      EXPECT_EQ(pass, (Rows{0, 1, 2, 3, 4, 5, 6, 7}));
    }
  }
  EXPECT_EQ(orders.size(), 12U) << "of every set and pass another one";
  EXPECT_NE(mix.rows(0, 3, RowOrder::shuffled), mix.rows(0, 4, RowOrder::shuffled));
  EXPECT_EQ(mix.rows(5, 3, RowOrder::shuffled), DatasetMixture({{8, 1}, {8, 1}}).rows(5, 3, RowOrder::shuffled));
}

TEST(DatasetMixture, TakesTurnsWithoutShuffling) {
  EXPECT_EQ(DatasetMixture({{4, 3}, {4, 1}}).rows(0, 1, RowOrder::as_stored), (Rows{0, 1, 4, 2, 3, 0, 5, 1}));
  EXPECT_EQ(DatasetMixture({{4, 3}, {4, 1}}).rows(1, 1, RowOrder::as_stored), (Rows{2, 3, 6, 0, 1, 2, 7, 3}))
      << "continues at the row after the last of the epoch before";
  const DatasetMixture mix({{300, 0.7}, {50, 0.2}, {150, 0.1}});
  const Rows rows = mix.rows(3, 1, RowOrder::as_stored);
  std::int64_t of_first = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    of_first += rows[i] < 300 ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(of_first), 0.7 * static_cast<double>(i + 1), 1.5) << i;
  }
}

TEST(DatasetMixture, HasItsProportionsInManySteps) {
  const Sampler sampler(mixed({{1000, 0.6}, {37, 0.3}, {400, 0.1}}, 16));
  const std::int64_t steps = 200;
  for (const auto& [set, share] : {std::pair<std::size_t, double>{0, 0.6}, {1, 0.3}, {2, 0.1}}) {
    const auto count = static_cast<double>(rows_of(sampler, set, 0, steps).size());
    const double wanted = share * 16 * static_cast<double>(steps);
    EXPECT_NEAR(count, wanted, 3 * std::sqrt(wanted)) << set;
  }
}

TEST(DatasetMixture, DoesNotDependOnRanksOrOnEarlierSteps) {
  for (const bool shuffle : {true, false}) {
    const Sampler sampler(mixed({{11, 1}, {23, 4}}, 5, shuffle));
    for (const std::int64_t step : {30, 3, 0, 17}) {
      const Sampler fresh(mixed({{11, 1}, {23, 4}}, 5, shuffle));
      for (const int num_ranks : {1, 2, 3, 4}) {
        Rows together;
        for (int rank = 0; rank < num_ranks; ++rank) {
          const Rows part = fresh.part(step, rank, num_ranks);
          together.insert(together.end(), part.begin(), part.end());
        }
        EXPECT_EQ(together, sampler.rows(step)) << step << " on " << num_ranks;
      }
    }
  }
}

TEST(DatasetMixture, HasEpochsOfTheLengthOfAllSets) {
  SamplerOptions options = mixed({{11, 1}, {23, 9}}, 5);
  EXPECT_EQ(Sampler(options).steps_per_epoch(), 7);
  EXPECT_EQ(Sampler(options).rows_in(6), 4);
  EXPECT_EQ(Sampler(options).epoch_of(7), 1);
  options.drop_last = true;
  EXPECT_EQ(Sampler(options).steps_per_epoch(), 6);
}

// Written down from the definition in DatasetMixture.hpp by a program of its own, so that a resumed run reads what it
// would have read.
TEST(DatasetMixture, IsTheDefinition) {
  std::vector<Rows> parts;
  for (std::uint64_t set = 0; set < 2; ++set) {
    const std::int64_t size = set == 0 ? 3 : 5, share = set == 0 ? 6 : 2, first = set == 0 ? 0 : 3;
    Rows sequence;
    for (std::uint64_t pass = 0; pass < 8; ++pass) {
      Rows rows(static_cast<std::size_t>(size));
      std::iota(rows.begin(), rows.end(), first);
      shuffle_rows(rows, splitmix64(splitmix64(splitmix64(9, 2), set), pass));
      sequence.insert(sequence.end(), rows.begin(), rows.end());
    }
    parts.emplace_back(sequence.begin() + 2 * share, sequence.begin() + 3 * share);
  }
  Rows epoch = parts[0];
  epoch.insert(epoch.end(), parts[1].begin(), parts[1].end());

  EXPECT_EQ(DatasetMixture({{3, 3}, {5, 1}}).rows(2, 9, RowOrder::shuffled), epoch);
  SamplerOptions options = mixed({{3, 3}, {5, 1}}, 8);
  options.seed = 9;
  shuffle_rows(epoch, splitmix64(splitmix64(9, 0), 2));
  EXPECT_EQ(Sampler(options).rows(2), epoch);
}

}  // namespace
}  // namespace multicard
