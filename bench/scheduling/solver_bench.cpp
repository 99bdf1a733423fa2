// How long the allocation solver takes, and what its splits gain over equal ones on published tables.
//   solver_bench [TESTS/DATA/ALLOCATION]     default: tests/data/allocation

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Quantiles.hpp"
#include "scheduling/rates/RateTableFile.hpp"
#include "scheduling/solve/Allocation.hpp"
#include "scheduling/solve/StaticSplit.hpp"

namespace multicard {
namespace {

/// A rate for every number of GPUs, rising with dents: Amdahl's law times noise.
RateTable dense_table(std::mt19937& random, int gpus) {
  const double serial = std::uniform_real_distribution<double>(0.001, 0.1)(random);
  std::vector<RateRow> rows;
  rows.reserve(static_cast<std::size_t>(gpus));
  for (int g = 1; g <= gpus; ++g) {
    const double noise = std::uniform_real_distribution<double>(0.7, 1)(random);
    rows.push_back({g, 0, noise / (serial + (1 - serial) / g), 0});
  }
  return RateTable(std::move(rows));
}

/// Rates that rise with every GPU, so that no choice can be left out.
RateTable rising_table(std::mt19937& random, int gpus) {
  double rate = 0;
  std::vector<RateRow> rows;
  rows.reserve(static_cast<std::size_t>(gpus));
  for (int g = 1; g <= gpus; ++g) {
    rate += std::uniform_real_distribution<double>(0.01, 1)(random) / std::sqrt(g);
    rows.push_back({g, 0, rate, 0});
  }
  return RateTable(std::move(rows));
}

AllocationProblem large_problem(int tasks, int gpus, Objective objective, RateTable (*table)(std::mt19937&, int)) {
  std::mt19937 random(1);
  AllocationProblem problem{objective, {1, gpus}, {}};
  for (int task = 0; task < tasks; ++task)
    problem.tasks.push_back({fmt::format("task {}", task), table(random, gpus),
                             std::uniform_real_distribution<double>(100, 1000)(random), 1.0 + task % 3});
  return problem;
}

/// Median milliseconds of some calls.
template <class Call>
double milliseconds(Call&& call) {
  std::vector<double> times;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const TimePoint start = SteadyClock::now();
    call();
    times.push_back(1000 * seconds_since(start));
  }
  return median(times);
}

void measure_times() {
  fmt::print("median ms of 5 calls on one core, a rate for every number of GPUs\n");
  fmt::print("  {:>5} {:>5}  {:<8} {:<20} {:>9} {:>11} {:>7}\n", "tasks", "GPUs", "table", "objective", "split",
             "schedule", "gap %");
  for (const auto& [tasks, gpus] : {std::pair(16, 64), std::pair(16, 1024), std::pair(64, 4096)})
    for (const auto& [name, table] : {std::pair("dented", &dense_table), std::pair("rising", &rising_table)})
      for (const Word<Objective>& objective : kObjectiveWords) {
        const AllocationProblem problem = large_problem(tasks, gpus, objective.value, table);
        const double split = milliseconds([&] { best_static_split(problem); });
        double gap = 0;
        const double schedule = milliseconds([&] {
          const std::optional<Allocation> found = allocate(problem, ScheduleKind::any);
          gap = 100 * (found->value / found->bound - 1);
        });
        fmt::print("  {:>5} {:>5}  {:<8} {:<20} {:>9.3f} {:>11.3f} {:>7.2f}\n", tasks, gpus, name, objective.text,
                   split, schedule, gap);
      }
}

/// How many tasks mixes have.
struct MixSize {
  int fewest, most;
};

/// Each task with work for 100 to 1000 s at its best rate on the machine.
AllocationProblem random_mix(std::mt19937& random, const std::vector<RateTable>& tables, int gpus, MixSize size) {
  AllocationProblem problem{Objective::makespan, {1, gpus}, {}};
  for (int left = std::uniform_int_distribution<int>(size.fewest, size.most)(random); left > 0; --left) {
    const RateTable& table = tables[std::uniform_int_distribution<std::size_t>(0, tables.size() - 1)(random)];
    const double seconds = std::uniform_real_distribution<double>(100, 1000)(random);
    problem.tasks.push_back({"", table, table.best(problem.machine).rate * seconds, 1});
  }
  return problem;
}

/// Mean changes of the makespan, in per cent.
struct Gains {
  std::vector<double> split_to_equal, split_to_sequential, schedule_to_best;
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += value;
  return values.empty() ? std::nan("") : sum / static_cast<double>(values.size());
}

void measure_gains(const char* name, const std::vector<RateTable>& tables, int gpus, MixSize size) {
  constexpr int num_mixes = 500;
  std::mt19937 random(1);
  Gains gains;
  for (int mix = 0; mix < num_mixes; ++mix) {
    const AllocationProblem problem = random_mix(random, tables, gpus, size);
    const std::optional<Allocation> split = allocate(problem, ScheduleKind::static_split),
                                    any = allocate(problem, ScheduleKind::any);
    if (!split || !any) continue;
    const auto change = [](double value, double baseline) { return 100 * (value / baseline - 1); };
    if (split->equal) gains.split_to_equal.push_back(change(split->value, *split->equal));
    gains.split_to_sequential.push_back(change(split->value, *split->sequential));
    gains.schedule_to_best.push_back(change(any->value, std::min(split->value, *split->sequential)));
  }
  fmt::print("  {:<12} {:>5} {:>5} {:>6} {:>16.1f} {:>16.1f} {:>22.1f} {:>24.1f}\n", name,
             fmt::format("{}-{}", size.fewest, size.most), gpus, gains.split_to_equal.size(),
             mean(gains.split_to_equal), median(gains.split_to_equal), mean(gains.split_to_sequential),
             mean(gains.schedule_to_best));
}

void measure_all_gains(const std::string& folder) {
  std::vector<RateTable> rubick, elasticflow;
  for (const char* model : {"vit", "roberta", "bert", "t5", "gpt2", "llama7"})
    rubick.push_back(read_rate_table(fmt::format("{}/rubick/{}.csv", folder, model), TableLayout::rubick));
  for (const auto& [model, batches] :
       {std::pair("bert", std::vector{64, 128}), std::pair("gpt2", std::vector{128, 256}),
        std::pair("inception3", std::vector{64, 128}), std::pair("resnet50", std::vector{64, 128, 256}),
        std::pair("vgg16", std::vector{64, 128, 256})})
    for (const int batch : batches)
      elasticflow.push_back(
          read_rate_table(fmt::format("{}/elasticflow/{}.csv", folder, model), TableLayout::elasticflow, batch));
  fmt::print(
      "change of the makespan in %: best split against an equal one and against one after another, best schedule "
      "against the better of split and sequence\n");
  fmt::print("  {:<12} {:>5} {:>5} {:>6} {:>16} {:>16} {:>22} {:>24}\n", "tables", "tasks", "GPUs", "mixes",
             "split/equal mean", "median", "split/sequential mean", "schedule/better mean");
  for (const MixSize size : {MixSize{4, 4}, MixSize{2, 8}}) {
    for (const int gpus : {16, 32, 64})
      measure_gains("rubick", rubick, gpus, size);
    for (const int gpus : {16, 32, 64, 128})
      measure_gains("elasticflow", elasticflow, gpus, size);
  }
}

}  // namespace
}  // namespace multicard

int main(int argc, char** argv) {
  try {
    multicard::measure_times();
    multicard::measure_all_gains(argc > 1 ? argv[1] : "tests/data/allocation");
    return 0;
  } catch (const multicard::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
