#include "train/LossSums.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(LossSums, RefusesNamesThatAreRecordedAlready) {
  EXPECT_NO_THROW(LossSums({{"rewards", SumUse::metric}, {"tokens", SumUse::rank_count}}));
  EXPECT_THROW(LossSums({{"train_loss", SumUse::metric}}), std::logic_error) << "every run has one";
  EXPECT_THROW(LossSums({{"samples", SumUse::rank_count}}), std::logic_error) << "so are the rows of a step";
  EXPECT_THROW(LossSums({{"tokens", SumUse::metric}, {"tokens", SumUse::rank_count}}), std::logic_error);
}

}  // namespace
}  // namespace multicard
