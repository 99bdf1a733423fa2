// Replays published workloads and prints our completion times and the published ones, gains and losses.
//
// usage: replay_bench FOLDER [POLICY ...]
// FOLDER/pollux: traces/, workloads/workload-1.csv to -8.csv and published-1.0.csv (policy,workload,job,completion_s);
// FOLDER/rubick: APPLICATION.csv and workload-base.csv. Where one of the two is missing, so are its tables. By default
// all policies; the adaptive ones, which search for the best split every minute, are left out of the 10,000 jobs.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/CsvTable.hpp"
#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "scheduling/replay/Replay.hpp"

namespace multicard {
namespace {

constexpr int kNumWorkloads = 8;
constexpr std::array<const char*, 3> kPublished{"pollux", "optimus", "tiresias"};

using Seconds = std::map<std::string, double>;  // by job

std::string_view name_of(ReplayPolicy policy) {
  return word_of<ReplayPolicy>(policy, kReplayPolicyWords);
}

Seconds seconds_of(const std::vector<JobOutcome>& outcomes) {
  Seconds seconds;
  for (const JobOutcome& outcome : outcomes)
    seconds[outcome.name] = outcome.seconds();
  return seconds;
}

double mean(const Seconds& seconds) {
  double sum = 0;
  for (const auto& [job, time] : seconds)
    sum += time;
  return sum / static_cast<double>(seconds.size());
}

/// The published completion times of each workload and policy.
std::map<std::pair<std::string, int>, Seconds> read_published(const std::string& path) {
  const CsvTable table(path);
  std::map<std::pair<std::string, int>, Seconds> published;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const int workload = table.text(row, "workload").back() - '0';
    published[{table.text(row, "policy"), workload}][table.text(row, "job")] =
        table.number(row, "completion_s", 0, 1e9);
  }
  return published;
}

/// How one policy compares with a published one over all workloads.
struct Comparison {
  int num_jobs = 0, num_equal = 0, num_slower = 0;
  double worst = 1;  ///< ratio of the times of the job that loses most
  std::string worst_job;

  void add(const Seconds& ours, const Seconds& theirs, const std::string& workload) {
    for (const auto& [job, time] : ours) {
      const double ratio = time / theirs.at(job);
      ++num_jobs;
      num_equal += time == theirs.at(job) ? 1 : 0;
      num_slower += ratio > 1 ? 1 : 0;
      if (ratio <= worst) continue;
      worst = ratio;
      worst_job = job + workload;
    }
  }
  /// \param ratio of the average times
  void print(std::string_view other, double ratio) const {
    fmt::print("  against {:<19} {:+6.1f} %, {} of {} jobs equal, {} slower, most {:.1f} times: {}\n", other,
               100 * (ratio - 1), num_equal, num_jobs, num_slower, worst, worst_job);
  }
};

void print_policy(const std::string& folder, ReplayPolicy policy,
                  std::map<std::pair<std::string, int>, Seconds>& published) {
  std::map<std::string, Comparison> comparisons;
  double all = 0, p99 = 0, makespan = 0;
  std::string row = fmt::format("{:<16}", name_of(policy));
  for (int workload = 1; workload <= kNumWorkloads; ++workload) {
    ReplayOptions options;
    options.workload = fmt::format("{}/workloads/workload-{}.csv", folder, workload);
    options.traces = folder + "/traces";
    const std::vector<JobOutcome> outcomes = replay_jobs(options, policy);
    const ReplaySummary summary = summary_of(policy, outcomes);
    all += summary.average_jct_s / kNumWorkloads;
    p99 += summary.p99_jct_s / kNumWorkloads;
    makespan += summary.makespan_s / 3600 / kNumWorkloads;
    row += fmt::format("{:>8.0f}", summary.average_jct_s);
    for (const char* other : kPublished)
      comparisons[other].add(seconds_of(outcomes), published[{other, workload}],
                             fmt::format(" of workload {}", workload));
  }
  fmt::print("{}{:>9.0f}{:>9.0f}{:>8.2f}\n", row, all, p99, makespan);
  for (const auto& [other, comparison] : comparisons) {
    double theirs = 0;
    for (int workload = 1; workload <= kNumWorkloads; ++workload)
      theirs += mean(published[{other, workload}]) / kNumWorkloads;
    comparison.print("published " + other, all / theirs);
  }
}

void print_pollux(const std::string& folder, const std::vector<ReplayPolicy>& policies) {
  auto published = read_published(folder + "/published-1.0.csv");
  fmt::print(
      "Average completion time of 160 jobs on 16 nodes with 4 GPUs, seconds, by workload; p99, makespan in hours\n");
  for (const char* policy : kPublished) {
    double all = 0;
    fmt::print("{:<16}", fmt::format("({})", policy));
    for (int workload = 1; workload <= kNumWorkloads; ++workload) {
      const double average = mean(published[{policy, workload}]);
      all += average / kNumWorkloads;
      fmt::print("{:>8.0f}", average);
    }
    fmt::print("{:>9.0f}   published\n", all);
  }
  for (const ReplayPolicy policy : policies)
    print_policy(folder, policy, published);
}

void print_rubick(const std::string& folder, const std::vector<ReplayPolicy>& policies) {
  ReplayOptions options;
  options.layout = ReplayLayout::rubick;
  options.cluster = {8, 8};
  options.workload = folder + "/workload-base.csv";
  options.traces = folder;
  options.policies = {ReplayPolicy::fifo_backfill};
  for (const ReplayPolicy policy : policies)
    if (policy != ReplayPolicy::fifo_backfill && policy != ReplayPolicy::optimus && policy != ReplayPolicy::pollux)
      options.policies.push_back(policy);
  fmt::print("\nRubick's base workload on 8 nodes with 8 GPUs, 260 s a restart\n");
  std::optional<Seconds> baseline;
  for (const ReplayPolicy policy : options.policies) {
    const std::vector<JobOutcome> outcomes = replay_jobs(options, policy);
    const ReplaySummary summary = summary_of(policy, outcomes);
    const Seconds seconds = seconds_of(outcomes);
    if (!baseline) baseline = seconds;
    fmt::print("{:<16} {} jobs, average {:.3f} h ({:.2f} times fifo-backfill), makespan {:.2f} h\n", name_of(policy),
               summary.jobs, summary.average_jct_s / 3600, mean(seconds) / mean(*baseline), summary.makespan_s / 3600);
    if (policy == options.policies.front()) continue;
    Comparison comparison;
    comparison.add(seconds, *baseline, "");
    comparison.print("fifo-backfill", mean(seconds) / mean(*baseline));
  }
}

/// 10,000 jobs: the eight workloads again and again, a minute apart.
void print_speed(const std::string& folder, const std::vector<ReplayPolicy>& policies) {
  const std::string path = (std::filesystem::temp_directory_path() / "replay_bench_jobs.csv").string();
  std::ofstream file(path);
  file << "name,time,application,num_replicas,batch_size\n";
  for (int i = 0, number = 0; number < 10000; ++i) {
    const CsvTable table(fmt::format("{}/workloads/workload-{}.csv", folder, i % kNumWorkloads + 1));
    for (std::size_t row = 0; row < table.num_rows() && number < 10000; ++row, ++number)
      file << fmt::format("job-{},{},{},{},{}\n", number, table.number(row, "time", 0, 1e9) + i * 60,
                          table.text(row, "application"), table.text(row, "num_replicas"),
                          table.text(row, "batch_size"));
  }
  file.close();
  ReplayOptions options;
  options.workload = path;
  options.traces = folder + "/traces";
  options.cluster = {256, 4};
  fmt::print("\n10,000 jobs on 256 nodes with 4 GPUs\n");
  for (const ReplayPolicy policy : policies) {
    if (policy == ReplayPolicy::adaptive || policy == ReplayPolicy::adaptive_blind) continue;
    const auto begin = std::chrono::steady_clock::now();
    const ReplaySummary summary = summary_of(policy, replay_jobs(options, policy));
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    fmt::print("{:<16} {:>7.1f} s to replay, average {:.0f} s, makespan {:.1f} h\n", name_of(policy), passed.count(),
               summary.average_jct_s, summary.makespan_s / 3600);
  }
  std::filesystem::remove(path);
}

/// Those named, or all but former names.
std::vector<ReplayPolicy> policies_of(int number, char** names) {
  std::vector<ReplayPolicy> policies;
  for (int i = 0; i < number; ++i) {
    const std::optional<ReplayPolicy> policy = value_of<ReplayPolicy>(names[i], kReplayPolicyWords);
    if (!policy) throw UsageError(fmt::format("{} is no policy", names[i]));
    policies.push_back(*policy);
  }
  if (!policies.empty()) return policies;
  for (const Word<ReplayPolicy>& policy : kReplayPolicyWords)
    if (policy.value != ReplayPolicy::multicard && policy.value != ReplayPolicy::multicard_fixed)
      policies.push_back(policy.value);
  return policies;
}

}  // namespace
}  // namespace multicard

int main(int num_arguments, char** arguments) {
  if (num_arguments < 2) {
    std::cerr << "usage: replay_bench FOLDER [POLICY ...]\n";
    return 2;
  }
  const std::string folder = arguments[1];
  try {
    const auto policies = multicard::policies_of(num_arguments - 2, arguments + 2);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // each line as it is known
    if (multicard::is_folder(folder + "/pollux")) multicard::print_pollux(folder + "/pollux", policies);
    if (multicard::is_folder(folder + "/rubick")) multicard::print_rubick(folder + "/rubick", policies);
    if (multicard::is_folder(folder + "/pollux")) multicard::print_speed(folder + "/pollux", policies);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
