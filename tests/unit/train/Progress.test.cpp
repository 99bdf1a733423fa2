#include "train/Progress.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(Progress, LineNamesEpochStepLossRateAndTimeLeft) {
  ProgressState state;
  state.step = 432;
  state.num_steps = 624;
  state.epoch = 1;
  state.num_epochs = 2;
  state.steps_per_epoch = 312;
  state.loss = 0.6123;
  state.learning_rate = 0.0714;
  state.rows_per_s = 208.4;
  state.step_s = 0.307;
  state.data_share = 0.001;
  state.reduce_share = 0.0123;

  EXPECT_EQ(progress_line(state),
            "epoch 2/2  step 120/312  loss 0.612   lr 0.0714  208 img/s  307 ms (data 0.1 %, reduce 1.2 %)  59 s left");
}

}  // namespace
}  // namespace multicard
