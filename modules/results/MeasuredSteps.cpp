#include "results/MeasuredSteps.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace multicard {

namespace {

/// Each step over all ranks.
struct StepSums {
  std::vector<double> longest;            ///< seconds of the slowest rank
  std::vector<std::int64_t> num_present;  ///< ranks with a time
  std::vector<std::int64_t> work;         ///< tokens or samples
};

const std::vector<std::int64_t>& work_of(const RankRecord& record) {
  const auto tokens = record.counts.find("tokens");
  return tokens == record.counts.end() ? record.samples : tokens->second;
}

/// Collective.
StepSums sum_steps(const RankRows& rows, std::size_t num_steps, const Communicator& communicator) {
  StepSums sums{std::vector<double>(num_steps), std::vector<std::int64_t>(num_steps),
                std::vector<std::int64_t>(num_steps)};
  for (const auto& [rank, record] : rows) {
    const std::vector<std::int64_t>& work = work_of(record);
    for (std::size_t i = 0; i < num_steps; ++i) {
      const double seconds = record.steps[i].step;
      // NaN where the rank took no part, in a segment of fewer ranks.
      if (!(std::isfinite(seconds) && seconds > 0)) continue;
      sums.longest[i] = std::max(sums.longest[i], seconds);
      ++sums.num_present[i];
      sums.work[i] += work[i];
    }
  }
  communicator.allreduce(std::span(sums.longest), ReduceOp::max);
  communicator.allreduce(std::span(sums.num_present), ReduceOp::sum);
  communicator.allreduce(std::span(sums.work), ReduceOp::sum);
  return sums;
}

}  // namespace

bool is_warm_up(const RunSummary& summary, std::int64_t first_step, std::size_t index) {
  const auto at = static_cast<std::int64_t>(index);
  if (at < summary.skip_steps) return true;
  return std::any_of(summary.segments.begin(), summary.segments.end(), [&](const Segment& segment) {
    const std::int64_t start = segment.first_step - first_step;
    return start > 0 && at >= start && at < start + summary.skip_steps;
  });
}

double MeasuredSteps::percent(Phase phase) const {
  return 100 * phases[static_cast<std::size_t>(phase)] / rank_seconds;
}

MeasuredSteps measure_steps(const RunSummary& summary, const RankRows& rows, const Communicator& communicator) {
  // All rows have as many steps (RankColumns), so that the arrays of all ranks have one length, as all-reduces need.
  const RankRecord& any = rows.begin()->second;
  const StepSums sums = sum_steps(rows, any.steps.size(), communicator);
  const std::int64_t num_ranks = communicator.allreduce<std::int64_t>(rows.rbegin()->first + 1, ReduceOp::max);
  std::vector<std::size_t> whole, after_warm_up;
  for (std::size_t i = 0; i < any.steps.size(); ++i) {
    // A step of fewer ranks than the run has at most is not comparable: its work and its communication are others.
    if (sums.num_present[i] != num_ranks) continue;
    whole.push_back(i);
    if (!is_warm_up(summary, any.first_step, i)) after_warm_up.push_back(i);
  }
  MeasuredSteps measured;
  measured.num_skipped = after_warm_up.empty() ? 0 : summary.skip_steps;
  for (const std::size_t i : after_warm_up.empty() ? whole : after_warm_up) {
    measured.seconds.push_back(sums.longest[i]);
    measured.rates.push_back(static_cast<double>(sums.work[i]) / sums.longest[i]);
    for (const auto& [rank, record] : rows) {
      measured.rank_seconds += record.steps[i].step;
      for (std::size_t phase = 0; phase < measured.phases.size(); ++phase)
        measured.phases[phase] += record.steps[i].phases[phase];
    }
  }
  communicator.allreduce(std::span<double>(measured.phases), ReduceOp::sum);
  measured.rank_seconds = communicator.allreduce(measured.rank_seconds, ReduceOp::sum);
  return measured;
}

std::vector<std::size_t> measured_steps(const RunData& run, Presence presence) {
  const auto found = run.times.find("step");
  std::vector<std::size_t> out;
  if (found == run.times.end()) return out;
  const RankMatrix<double>& step = found->second;
  for (std::size_t i = 0; i < step.length; ++i) {
    // The first skip_steps of the run and of every later segment.
    if (is_warm_up(run.summary, run.first_step, i)) continue;
    std::size_t present = 0;
    for (std::size_t rank = 0; rank < step.ranks; ++rank)
      if (std::isfinite(step.at(rank, i)) && step.at(rank, i) > 0) ++present;
    if (present == step.ranks || (presence == Presence::any_ranks && present > 0)) out.push_back(i);
  }
  return out;
}

}  // namespace multicard
