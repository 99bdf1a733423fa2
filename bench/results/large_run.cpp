// Writes the results file of a run on many ranks, each with a profile, to time what reads it:
//
//   large_run RANKS STEPS FILE        e.g. large_run 4096 1000 /tmp/large/results.h5
//   time multicard-post FILE
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Number.hpp"
#include "base/SplitMix64.hpp"
#include "profile/Profile.hpp"
#include "results/ProfileTables.hpp"
#include "results/ResultsWriter.hpp"

namespace multicard {
namespace {

constexpr int kOperators = 60, kBlocks = 32, kKernels = 80, kCalls = 16, kThreads = 6, kSamples = 300;

struct Dice {
  std::uint64_t key, count = 0;
  std::uint64_t next() { return splitmix64(key, count++); }
};

/// Of some microseconds, different on every rank.
Distribution some_times(Dice& dice) {
  std::vector<std::int64_t> values(8);
  for (std::int64_t& value : values)
    value = 1000 + static_cast<std::int64_t>(dice.next() % 100000);
  return distribution_of(std::move(values));
}

std::vector<NamedTimes> named(const char* what, int count, Dice& dice) {
  std::vector<NamedTimes> rows;
  rows.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    rows.push_back({fmt::format("{}_{}", what, i), some_times(dice)});
  return rows;
}

Profile some_profile(int rank, Dice& dice) {
  Profile profile;
  profile.rank = rank;
  profile.num_steps = 10;
  profile.window_ns = 1'000'000'000;
  profile.calls = named("cudaCall", kCalls, dice);
  profile.kernels = named("void a_kernel_with_a_name_as_long_as_those_of_templates<float, 128, 4>", kKernels, dice);
  for (const char* const phase : {"forward", "backward", "update"})
    for (int i = 0; i < kOperators; ++i)
      profile.operators.push_back({fmt::format("aten::operator_{}", i), some_times(dice), {5000, 3000, 2}, phase});
  for (const char* const phase : kPhaseNames)
    profile.phases.push_back({phase, some_times(dice), {5000, 3000, 2}});
  for (const char* const pass : {"forward", "backward"})
    for (int i = 0; i < kBlocks; ++i)
      profile.blocks.push_back({fmt::format("blocks.{}", i), pass, some_times(dice), {5000, 3000, 2}});
  for (int i = 0; i < kThreads; ++i)
    profile.threads.push_back({fmt::format("thread-{}", i), 1, 1'000'000'000, 500'000'000, 1'000'000});
  return profile;
}

RankRecord some_record(int rank, int num_steps) {
  Dice dice{static_cast<std::uint64_t>(rank)};
  RankRecord record;
  for (int step = 0; step < num_steps; ++step) {
    StepTimes times;
    for (double& phase : times.phases)
      times.step += phase = 1e-3 + 1e-7 * static_cast<double>(dice.next() % 1000);
    record.steps.push_back(times);
    record.samples.push_back(8);
  }
  record.memory["host_peak_bytes"] = 2'000'000'000 + rank;
  record.communication["all_reduce"] = {num_steps, 1 << 20, 2e6, 0.5, 0.1};
  for (const char* const column : {"time_s", "interval_s", "cpu_s", "resident_bytes", "gpu_busy", "gpu_power_w"})
    record.resources[column].assign(kSamples, 1.0);
  record.tables = tables_of_profile(some_profile(rank, dice));
  return record;
}

int run(const std::vector<std::string>& words) {
  const auto ranks = parse_number<int>(words.at(0)), steps = parse_number<int>(words.at(1));
  if (!ranks || !steps || *ranks < 1 || *steps < 1) throw UsageError("RANKS and STEPS are numbers above 0");
  RankRows rows;
  for (int rank = 0; rank < *ranks; ++rank)
    rows[rank] = some_record(rank, *steps);
  RunSummary summary;
  summary.name = "main";
  summary.text = {{"task", "image"}, {"strategy", "ddp-ds"}, {"model", "mobilenet_v2"}, {"device", "cuda:0"}};
  summary.integers = {{"global_batch", 8 * *ranks}, {"ranks", *ranks}};
  write_results(words.at(2), Communicator::null(), Provenance{}, summary, rows);
  return 0;
}

}  // namespace
}  // namespace multicard

int main(int argc, char** argv) {
  try {
    if (argc == 4) return multicard::run({argv + 1, argv + argc});
    std::fputs("usage: large_run RANKS STEPS FILE\n", stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "large_run: %s\n", error.what());
    return 1;
  }
}
