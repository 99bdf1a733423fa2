#include "train/Progress.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

ProgressState example() {
  ProgressState state;
  state.step = 432;
  state.num_steps = 624;
  state.epoch = 1;
  state.num_epochs = 2;
  state.loss = 0.6123;
  state.learning_rate = 0.0714;
  state.rate = 208.4;
  state.step_s = 0.307;
  state.data_share = 0.001;
  state.reduce_share = 0.0123;
  return state;
}

TEST(Progress, LineNamesEpochStepLossRateAndTimeLeft) {
  EXPECT_EQ(progress_line(example()),
            "epoch 2/2  step 432/624  loss 0.612   lr 0.0714  208 img/s  307 ms (data 0.1 %, reduce 1.2 %)  59 s left");
}

TEST(Progress, ANarrowTerminalGetsWhatMattersMost) {
  const std::string whole = progress_line(example());
  EXPECT_EQ(progress_line(example(), whole.size()), whole);
  EXPECT_EQ(progress_line(example(), 79),
            "epoch 2/2  step 432/624  loss 0.612   lr 0.0714  208 img/s  307 ms  59 s left");
  EXPECT_EQ(progress_line(example(), 60), "epoch 2/2  step 432/624  loss 0.612   208 img/s  59 s left");
  EXPECT_EQ(progress_line(example(), 30), "step 432/624  loss 0.612 ");
  for (std::size_t columns = 0; columns < whole.size(); ++columns)
    EXPECT_LE(progress_line(example(), columns).size(), columns);
}

}  // namespace
}  // namespace multicard
