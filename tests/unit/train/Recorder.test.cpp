#include "train/Recorder.hpp"

#include <tuple>

#include <gtest/gtest.h>

#include "results/MetricSink.hpp"
#include "results/RankColumns.hpp"

namespace multicard {
namespace {

MeasuredStep step_of(double seconds, std::optional<double> host_data_wait) {
  MeasuredStep step;
  step.step = step.phases[0] = seconds;
  step.host_data_wait = host_data_wait;
  return step;
}

/// Notes what it is given.
class NotingSink final : public MetricSink {
 public:
  using Value = std::tuple<std::string, std::int64_t, double>;
  explicit NotingSink(std::vector<Value>& noted) : noted_(noted) {}
  void add(const std::string& name, std::int64_t step, double value) override {
    noted_.emplace_back(name, step, value);
  }
  void flush() override {}

 private:
  std::vector<Value>& noted_;
};

TEST(Recorder, FeedsWhatIsNewAndWhatTheEarlierPartHasFromTheFirstStepOn) {
  std::vector<NotingSink::Value> noted;
  MetricFeed feed([](const std::string& warning) { FAIL() << warning; });
  feed.open([&] { return std::make_unique<NotingSink>(noted); });
  Recorder recorder("host");
  recorder.continue_metrics({{"train_loss", {{3, 2}, {2, 3}}}, {"eval_loss", {{5, 6}, {2, 4}}}});

  recorder.feed_metrics_to(feed, 4);
  recorder.add_metric("train_loss", 4, 1);

  EXPECT_EQ(noted, (std::vector<NotingSink::Value>{{"eval_loss", 4, 6}, {"train_loss", 4, 1}}));
  EXPECT_EQ(recorder.metrics().at("train_loss").values, (std::vector<double>{3, 2, 1}));
}

TEST(Recorder, RecordsTheHostsWaitingApartFromTheStepsOfADevice) {
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
