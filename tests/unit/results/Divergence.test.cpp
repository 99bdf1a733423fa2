#include "results/Divergence.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(Divergence, IsALossThatRoseBeyondAnyUse) {
  EXPECT_EQ(divergence(std::vector<double>{2.3, 1e3, 1e20, 1e29, 1e29}), "the training loss rose from 2.3 to 1e+29");
  EXPECT_TRUE(divergence(std::vector<double>{0.5, 4, 8, 12, 40}));
}

TEST(Divergence, IsNoOrdinaryTraining) {
  EXPECT_FALSE(divergence(std::vector<double>{2.3, 2.1, 1.9, 1.8, 1.7}));
  EXPECT_FALSE(divergence(std::vector<double>{0.01, 0.2, 0.3, 0.4, 0.5}));  // a tuned model that forgets
  EXPECT_FALSE(divergence(std::vector<double>{11.8, 11.9, 12.1, 12.0, 11.5}));
  EXPECT_FALSE(divergence(std::vector<double>{2.3, 1e29}));
  EXPECT_FALSE(divergence(std::vector<double>{}));
}

TEST(Divergence, LooksAtSeveralOfTheLastSteps) {
  std::vector<double> losses(100, 1.0);
  losses.back() = 1e9;  // one bad batch
  EXPECT_FALSE(divergence(losses));
}

/// The step at which these losses are found to diverge.
std::optional<std::int64_t> found_in(const std::vector<double>& losses) {
  DivergenceWatch watch;
  for (std::size_t step = 0; step < losses.size(); ++step)
    watch.note(static_cast<std::int64_t>(step), losses[step]);
  return watch.diverged_step();
}

TEST(DivergenceWatch, FindsALossThatStaysFarBeyondItsBeginning) {
  EXPECT_EQ(found_in({2.3, 2.2, 60, 1e3, 1e20, 1e29}), 4);
  EXPECT_EQ(found_in({0.5, 40, 3, 50, 60}), 4);
  EXPECT_EQ(found_in({2.3, 1e3, 1e3, 1e3, 2.0, 1.0}), 3) << "also where it recovers";
}

TEST(DivergenceWatch, KeepsQuietInOrdinaryTrainings) {
  EXPECT_FALSE(found_in({2.3, 2.1, 500, 2.0, 700, 1.9, 1.8, 900, 1.7}));  // spikes
  EXPECT_FALSE(found_in({0.01, 0.2, 4, 5, 6, 7, 8, 9}));                  // a tuned model on other data
  EXPECT_FALSE(found_in({11.8, 40, 50, 60, 80, 11, 9}));                  // a warm-up that is too short
  EXPECT_FALSE(found_in({25, 0.3, 60, 90, 120, 0.2, 200, 210}));          // IPO
  EXPECT_FALSE(found_in({}));
}

TEST(DivergenceWatch, FindsALanguageModelThatSettlesAtRandomAnswers) {
  std::vector<double> losses{2.1, 2.6, 2.4, 1.9, 2.2};
  losses.resize(54, 7.4);
  EXPECT_FALSE(found_in(losses));
  losses.push_back(7.4);
  EXPECT_EQ(found_in(losses), 54);

  losses[30] = 4.9;  // it may recover
  EXPECT_FALSE(found_in(losses));
}

TEST(DivergenceWatch, GoesOnWhereItsStateComesFrom) {
  DivergenceWatch before;
  before.note(0, 2.3);
  before.note(1, 1e3);
  before.note(2, 1e4);
  EXPECT_TRUE(before.is_suspicious());
  EXPECT_FALSE(before.is_divergent());

  DivergenceWatch after;
  after.resume(before.state());
  after.note(2, 1e4);  // known
  EXPECT_FALSE(after.is_divergent());
  after.note(3, 1e5);

  EXPECT_TRUE(after.is_divergent());
  EXPECT_EQ(after.text(), "the training loss rose from 2.3 in the first step to 1e+05 in step 3");
  DivergenceWatch known;
  known.resume(after.state());
  EXPECT_EQ(known.diverged_step(), 3);
}

}  // namespace
}  // namespace multicard
