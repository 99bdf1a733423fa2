#include "train/Recorder.hpp"

#include <gtest/gtest.h>

#include "results/RankColumns.hpp"

namespace multicard {
namespace {

MeasuredStep step_of(double seconds, std::optional<double> host_data_wait) {
  MeasuredStep step;
  step.step = step.phases[0] = seconds;
  step.host_data_wait = host_data_wait;
  return step;
}

TEST(Recorder, PutsTheHostsWaitingBesideTheStepsOfADevice) {
  Recorder recorder("device");
  recorder.add_step_times({step_of(1, 0.25), step_of(2, 0.5)});
  recorder.add_step_times({step_of(3, 0.0)});
  recorder.record().samples = {1, 1, 1};

  const RankColumns columns = to_columns(recorder.record());
  const auto reals = [&](const char* name) { return std::get<std::vector<double>>(columns.at(name)); };
  EXPECT_EQ(reals("steps/step"), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(reals("steps/host_data_wait"), (std::vector<double>{0.25, 0.5, 0.0}));
}

TEST(Recorder, HasNoSuchColumnOnTheHostsClock) {
  Recorder recorder("host");
  recorder.add_step_times({step_of(1, std::nullopt)});

  EXPECT_FALSE(to_columns(recorder.record()).contains("steps/host_data_wait"));
}

}  // namespace
}  // namespace multicard
