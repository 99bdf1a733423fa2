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

}  // namespace
}  // namespace multicard
