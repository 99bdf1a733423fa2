#include "scheduling/replay/TableModel.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(TableModel, TakesItsTimeFromTheCountOfGpus) {
  const TableModel model({{1, 4.0}, {4, 1.5}}, 100);

  EXPECT_EQ(model.update_seconds({1, 3}, {}), 1.5);
  EXPECT_EQ(model.remaining_seconds(1, 0, 0), 400);
  EXPECT_EQ(model.remaining_seconds(4, 0, 60), 60);
  EXPECT_TRUE(std::isinf(model.remaining_seconds(2, 0, 0)));
  EXPECT_EQ(model.remaining_seconds(4, 1, 100), 0);
  EXPECT_EQ(model.most_gpus(), 4);
  EXPECT_EQ(model.progress_at(1), 100);
}

}  // namespace
}  // namespace multicard
