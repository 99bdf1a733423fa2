#include "scheduling/solve/FreeGpus.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(FreeGpus, AreTakenFromTheWidestNodeFirst) {
  FreeGpus free({3, 4});

  free.take(Placement{{0, 2}});

  EXPECT_EQ(free.take_widest(6), (Placement{{1, 4}, {2, 2}}));
  EXPECT_EQ(free.take_widest(3), (Placement{{0, 2}, {2, 1}}));
  EXPECT_EQ(free.count(), 1);
}

TEST(FreeGpus, AreTakenWhereFewestAreLeftOver) {
  FreeGpus free({3, 4});

  free.take(Placement{{1, 1}, {2, 2}});

  EXPECT_EQ(free.take_tightest(2), (Placement{{2, 2}}));
  EXPECT_EQ(free.take_tightest(5), (Placement{{0, 4}, {1, 1}}));
  EXPECT_EQ(free.take_tightest(2), (Placement{{1, 2}}));
}

}  // namespace
}  // namespace multicard
