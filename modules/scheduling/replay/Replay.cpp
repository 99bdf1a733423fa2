#include "scheduling/replay/Replay.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "scheduling/policy/AdaptivePolicy.hpp"
#include "scheduling/policy/FifoPolicy.hpp"
#include "scheduling/policy/GreedyPolicy.hpp"
#include "scheduling/policy/MaxMinPolicy.hpp"
#include "scheduling/policy/OptimusPolicy.hpp"
#include "scheduling/policy/PolluxPolicy.hpp"
#include "scheduling/policy/TiresiasPolicy.hpp"
#include "scheduling/replay/Workload.hpp"

namespace multicard {

namespace {

/// Rigid policies leave everything to the user; of the elastic ones only two adapt batches.
JobFreedom freedom_under(ReplayPolicy policy) {
  switch (policy) {
    case ReplayPolicy::fifo:
    case ReplayPolicy::fifo_backfill:
    case ReplayPolicy::tiresias:
      return JobFreedom::none;
    case ReplayPolicy::pollux:
    case ReplayPolicy::greedy:
    case ReplayPolicy::multicard:
      return JobFreedom::plan_and_batch;
    default:
      return JobFreedom::plan;
  }
}

bool is_adaptive(ReplayPolicy policy) {
  return policy == ReplayPolicy::adaptive || policy == ReplayPolicy::adaptive_blind;
}

/// What `share` does, for the average completion time. A search ends after an amount of work, not of time, so that a
/// replay gives the same results on any machine.
AdaptiveOptions adaptive_options() {
  AdaptiveOptions options;
  options.objective = Objective::average_completion;
  options.most_operations = 2'000'000;
  options.most_seconds = std::numeric_limits<double>::infinity();
  return options;
}

std::unique_ptr<SchedulingPolicy> make_policy(ReplayPolicy policy, const Machine& cluster, const RoundTimes& times) {
  switch (policy) {
    case ReplayPolicy::fifo:
      return std::make_unique<FifoPolicy>(cluster, Backfill::no);
    case ReplayPolicy::fifo_backfill:
      return std::make_unique<FifoPolicy>(cluster, Backfill::yes);
    case ReplayPolicy::tiresias:
      return std::make_unique<TiresiasPolicy>(cluster, times.round_s);
    case ReplayPolicy::optimus:
      return std::make_unique<OptimusPolicy>(cluster);
    case ReplayPolicy::pollux:
      return std::make_unique<PolluxPolicy>(cluster, times.restart_s);
    case ReplayPolicy::max_min:
      return std::make_unique<MaxMinPolicy>(cluster);
    case ReplayPolicy::adaptive:
    case ReplayPolicy::adaptive_blind:
      return std::make_unique<AdaptivePolicy>(adaptive_options(), Layout::of_cluster(cluster));
    default:
      return std::make_unique<GreedyPolicy>(cluster, times.restart_s);
  }
}

std::vector<JobOutcome> outcomes_of(Workload workload, const ReplayOptions& options, ReplayPolicy policy) {
  const std::unique_ptr<SchedulingPolicy> scheduler = make_policy(policy, options.cluster, workload.times);
  MeasuredJobs measured(options.cluster, workload.times.restart_s,
                        policy == ReplayPolicy::adaptive ? RemainingWork::known : RemainingWork::unknown);
  return simulate(std::move(workload.jobs), *scheduler, options.cluster, workload.times,
                  is_adaptive(policy) ? &measured : nullptr);
}

void warn_of_left_out(const Workload& workload, const std::string& path) {
  for (const auto& [application, count] : workload.left_out)
    log_warning(
        fmt::format("{} of {} left out (nothing was measured of {})", counted(count, "job"), path, application));
}

}  // namespace

std::vector<JobOutcome> replay_jobs(const ReplayOptions& options, ReplayPolicy policy) {
  return outcomes_of(read_workload(options, freedom_under(policy)), options, policy);
}

std::vector<ReplaySummary> replay(const ReplayOptions& options) {
  std::vector<ReplaySummary> summaries;
  for (const ReplayPolicy policy : options.policies) {
    // Once for each policy: models depend on what the policy may choose, and a replay uses its jobs up.
    Workload workload = read_workload(options, freedom_under(policy));
    if (summaries.empty()) warn_of_left_out(workload, options.workload);  // the same under all policies
    summaries.push_back(summary_of(policy, outcomes_of(std::move(workload), options, policy)));
  }
  return summaries;
}

ReplaySummary summary_of(ReplayPolicy policy, const std::vector<JobOutcome>& outcomes) {
  ReplaySummary summary;
  summary.policy = policy;
  summary.jobs = static_cast<int>(outcomes.size());
  std::vector<double> seconds;
  double first = outcomes.at(0).submission_s, last = 0, sum = 0;
  for (const JobOutcome& outcome : outcomes) {
    seconds.push_back(outcome.seconds());
    sum += outcome.seconds();
    first = std::min(first, outcome.submission_s);
    last = std::max(last, outcome.completion_s);
  }
  const std::size_t rank = (99 * seconds.size() + 99) / 100;  // rounded up, counted from 1
  std::sort(seconds.begin(), seconds.end());
  summary.average_jct_s = sum / static_cast<double>(outcomes.size());
  summary.p99_jct_s = seconds[rank - 1];
  summary.makespan_s = last - first;
  return summary;
}

std::string json_line(const ReplaySummary& summary) {
  return fmt::format(R"({{"policy":"{}","jobs":{},"average_jct_s":{},"p99_jct_s":{},"makespan_s":{}}})",
                     word_of<ReplayPolicy>(summary.policy, kReplayPolicyWords), summary.jobs,
                     json_number(summary.average_jct_s, "average_jct_s"), json_number(summary.p99_jct_s, "p99_jct_s"),
                     json_number(summary.makespan_s, "makespan_s"));
}

std::vector<std::string> replay_report(const std::vector<ReplaySummary>& summaries) {
  std::vector<std::string> lines{fmt::format("  {:<12}{:>8}  {:>20}  {:>16}  {:>18}", "policy", "jobs",
                                             "average completion", "99 % within", "all complete after")};
  for (const ReplaySummary& summary : summaries)
    lines.push_back(fmt::format("  {:<12}{:>8}  {:>20}  {:>16}  {:>18}",
                                word_of<ReplayPolicy>(summary.policy, kReplayPolicyWords), summary.jobs,
                                human_duration(summary.average_jct_s), human_duration(summary.p99_jct_s),
                                human_duration(summary.makespan_s)));
  return lines;
}

}  // namespace multicard
