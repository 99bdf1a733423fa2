#include "prepare/files/BadInputs.hpp"

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

TEST(MergeBad, KeepsReasonsWithAnyBytes) {
  const Communicator& world = test::world();
  const std::vector<std::string> reasons{std::string("a\0b\0", 4), "", "3 4 5\n", std::string(1, '\0')};
  std::vector<BadInput> mine;
  for (std::size_t i = 0; i < reasons.size(); ++i)
    mine.push_back({100 * world.rank() + static_cast<std::int64_t>(i), reasons[i]});

  const std::vector<BadInput> all = merge_bad(mine, world);

  ASSERT_EQ(all.size(), reasons.size() * static_cast<std::size_t>(world.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].index, static_cast<std::int64_t>(100 * (i / reasons.size()) + i % reasons.size()));
    EXPECT_EQ(all[i].why, reasons[i % reasons.size()]);
  }
}

TEST(MergeBad, TakesNothingFromRanksWithoutAny) {
  const Communicator& world = test::world();
  const bool is_last = world.rank() + 1 == world.size();

  const std::vector<BadInput> all =
      merge_bad(is_last ? std::vector<BadInput>{{7, "why"}} : std::vector<BadInput>{}, world);

  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].index, 7);
}

}  // namespace
}  // namespace multicard
