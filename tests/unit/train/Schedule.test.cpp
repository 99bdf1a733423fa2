#include "train/Schedule.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using nlohmann::json;

json reference_cases(const std::string& kind) {
  std::ifstream in(test::source_path("tests/data/oracles/optimisation/schedules.json"));
  json found = json::array();
  const json all = json::parse(in);
  for (const json& one : all["cases"])
    if (one["kind"] == kind) found.push_back(one);
  EXPECT_FALSE(found.empty()) << kind;
  return found;
}

/// The first `num_steps` values against the reference.
void expect_rates(const ScheduleOptions& options, const json& one, std::size_t num_steps) {
  const double peak = one["lr"];
  const auto values = one["values"].get<std::vector<double>>();
  const Schedule schedule(options, peak, one.value("total", std::int64_t{0}));
  ASSERT_LE(num_steps, values.size());
  for (std::size_t s = 0; s < num_steps; ++s)
    EXPECT_NEAR(schedule.learning_rate(static_cast<std::int64_t>(s)), values[s], 1e-12 * values[s] + 1e-15)
        << one["kind"] << " lr " << peak << " step " << s;
}

ScheduleOptions named(ScheduleName name, std::int64_t warmup) {
  ScheduleOptions options;
  options.name = name;
  options.warmup_steps = warmup;
  return options;
}

TEST(Schedule, IsConstantAsInTransformers) {
  for (const json& one : reference_cases("constant"))
    expect_rates(named(ScheduleName::constant, 0), one, one["values"].size());
  for (const json& one : reference_cases("constant_with_warmup"))
    expect_rates(named(ScheduleName::constant, one["warmup"]), one, one["values"].size());
}

TEST(Schedule, FallsLinearlyAsInTransformersAndStaysAtZero) {
  for (const json& one : reference_cases("linear_with_warmup"))
    expect_rates(named(ScheduleName::linear, one["warmup"]), one, one["values"].size());
}

TEST(Schedule, FallsAlongACosineAsInTransformers) {
  for (const json& one : reference_cases("cosine_with_warmup"))
    expect_rates(named(ScheduleName::cosine, one["warmup"]), one, one["total"]);
}

TEST(Schedule, FallsToAPartOfThePeakAsInTransformers) {
  for (const json& one : reference_cases("cosine_with_min_lr_rate_0.1")) {
    ScheduleOptions options = named(ScheduleName::cosine, one["warmup"]);
    options.min_factor = 0.1;
    expect_rates(options, one, one["total"]);
  }
}

TEST(Schedule, FallsInStepsAsInTorch) {
  for (const json& one : reference_cases("torch.StepLR")) {
    ScheduleOptions options = named(ScheduleName::step, 0);
    options.step_size = one["step_size"];
    options.gamma = one["gamma"];
    expect_rates(options, one, one["values"].size());
  }
}

TEST(Schedule, CountsStepsFromTheEndOfTheWarmupAndKeepsTheFloor) {
  ScheduleOptions options = named(ScheduleName::step, 2);
  options.step_size = 3;
  options.gamma = 0.1;
  options.min_factor = 0.05;
  const Schedule schedule(options, 1.0, 100);

  EXPECT_EQ(schedule.learning_rate(0), 0);
  EXPECT_EQ(schedule.learning_rate(1), 0.5);
  EXPECT_EQ(schedule.learning_rate(4), 1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(5), 0.1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(8), 0.05);
}

TEST(Schedule, StaysAtItsEnd) {
  ScheduleOptions options = named(ScheduleName::cosine, 0);
  options.total_steps = 10;
  options.min_factor = 0.25;
  const Schedule schedule(options, 2.0, 1000);

  EXPECT_EQ(schedule.learning_rate(0), 2.0);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(5), 2.0 * (0.25 + 0.75 * 0.5));
  EXPECT_EQ(schedule.learning_rate(10), 0.5);
  EXPECT_EQ(schedule.learning_rate(15), 0.5);
}

}  // namespace
}  // namespace multicard
