#include "postproc/reduce/Reduce.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "findings/RunRules.hpp"
#include "postproc/reduce/AsText.hpp"
#include "postproc/reduce/ReduceParts.hpp"
#include "results/MeasuredSteps.hpp"
#include "results/ProfileTables.hpp"

namespace multicard::post {

namespace {

using Times = RankMatrix<double>;
using Steps = std::vector<std::size_t>;

/// Of the interval of a mean over steps, as of that of their median.
constexpr std::size_t kLeastSteps = 6;

/// Null where the file lacks the column.
const Times* find_times(const RunData& run, const std::string& column) {
  const auto found = run.times.find(column);
  return found == run.times.end() ? nullptr : &found->second;
}

/// The value of `batch_per_rank:` in a resolved deck; empty when it is not set.
std::string batch_per_rank(const std::string& deck) {
  static const std::string kKey = "batch_per_rank:";
  std::size_t at = deck.find(kKey);
  if (at == std::string::npos) return {};
  at = deck.find_first_not_of(" \"'", at + kKey.size());
  std::size_t end = at;
  while (end < deck.size() && std::isdigit(static_cast<unsigned char>(deck[end])))
    ++end;
  return at == std::string::npos ? std::string() : deck.substr(at, end - at);
}

/// Attributes become settings as text; those that say what happened (deck, early_stop_step) have members of their own.
void copy_settings(const RunSummary& summary, RunReport& report) {
  for (const auto& [key, value] : summary.text)
    report.settings[key] = value;
  for (const auto& [key, value] : summary.integers)
    if (key == "early_stop_step")
      report.early_stop_step = value;
    else
      report.settings[key] = as_text(value);
  for (const auto& [key, value] : summary.reals)
    report.settings[key] = as_text(value);
  if (const auto deck = report.settings.find("deck"); deck != report.settings.end()) {
    report.deck = deck->second;
    report.settings.erase(deck);
  }
  if (const std::string rows = batch_per_rank(report.deck); !rows.empty())
    report.settings.emplace("batch_per_rank", rows);
  if (const auto repeat = summary.integers.find("repeat"); repeat != summary.integers.end())
    report.repeat = repeat->second;
  const auto quick = summary.integers.find("quick");
  report.is_quick = quick != summary.integers.end() && quick->second != 0;
}

/// Seconds of each measured step, of the slowest rank.
std::vector<double> slowest(const Times& step, const Steps& measured) {
  std::vector<double> out;
  for (const std::size_t i : measured) {
    double longest = 0;
    for (std::size_t rank = 0; rank < step.ranks; ++rank)
      longest = std::max(longest, step.at(rank, i));
    out.push_back(longest);
  }
  return out;
}

/// Of all ranks, for each measured step.
std::vector<double> totals(const RankMatrix<std::int64_t>& counts, const Steps& measured) {
  std::vector<double> out;
  for (const std::size_t i : measured) {
    double sum = 0;
    for (std::size_t rank = 0; rank < counts.ranks; ++rank)
      sum += static_cast<double>(counts.at(rank, i));
    out.push_back(sum);
  }
  return out;
}

/// Tokens where they are counted, else images or rows.
std::string counted_column(const RunData& run, RunReport& report) {
  const auto task = report.settings.find("task");
  if (run.counts.contains("tokens")) {
    report.unit = "tokens";
    return "tokens";
  }
  if (task != report.settings.end() && task->second == "image") report.unit = "images";
  return "samples";
}

/// A step lasts as long as on its slowest rank, and counts the rows of all ranks. The median over steps ignores the few
/// that wait for files or other programs.
void reduce_rate(const RunData& run, const Steps& measured, RunReport& report) {
  const std::vector<double> seconds = slowest(run.times.at("step"), measured);
  report.step_time = estimate_of_steps(seconds);
  const std::string column = counted_column(run, report);
  const auto counts = run.counts.find(column);
  if (counts == run.counts.end()) return;
  std::vector<double> rates = totals(counts->second, measured);
  for (std::size_t i = 0; i < rates.size(); ++i)
    rates[i] /= seconds[i];
  report.rate = estimate_of_steps(rates);
}

/// The mean over ranks of each measured step, and over these the mean with its interval: ranks of one step are not
/// independent of each other.
Estimate mean_of_steps(const Times& times, const Steps& measured) {
  std::vector<double> means;
  for (const std::size_t i : measured) {
    std::vector<double> of_ranks;
    for (std::size_t rank = 0; rank < times.ranks; ++rank)
      if (std::isfinite(times.at(rank, i))) of_ranks.push_back(times.at(rank, i));
    if (!of_ranks.empty()) means.push_back(mean(of_ranks));
  }
  return estimate_of_mean(means, Basis::steps, kLeastSteps);
}

/// Means, unlike rates: medians of phases would not add up to the step.
void reduce_phases(const RunData& run, const Steps& measured, RunReport& report) {
  const auto mean_of = [&](const Times& times) {
    std::vector<double> values;
    for (std::size_t rank = 0; rank < times.ranks; ++rank)
      for (const std::size_t i : measured)
        if (std::isfinite(times.at(rank, i))) values.push_back(times.at(rank, i));  // absent ranks are NaN
    return mean(values);
  };
  report.mean_step = mean_of(run.times.at("step"));
  report.step_mean = mean_of_steps(run.times.at("step"), measured);
  for (std::size_t p = 0; p < kNumPhases; ++p)
    if (const Times* times = find_times(run, kPhaseNames[p])) {
      report.phases[p] = mean_of(*times);
      report.phase_means[p] = mean_of_steps(*times, measured);
    }
  report.exposed_share = report.phase(Phase::reduce_wait) / report.mean_step;
  report.data_wait_share = report.phase(Phase::data_wait) / report.mean_step;
}

void reduce_ranks(const RunData& run, const Steps& measured, RunReport& report) {
  report.rank_reports = compare_ranks(run, measured);
  if (report.rank_reports.empty()) return;
  const auto median = [](const RankReport& rank) { return rank.own.value; };
  const auto [least, most] = std::ranges::minmax_element(report.rank_reports, {}, median);
  report.rank_spread = most->own.value / least->own.value;
}

/// Totals over all steps, measured or not: they are recorded as sums. Memory and payloads are of the rank with the
/// most.
void reduce_totals(const RunData& run, RunReport& report) {
  for (const auto& [name, bytes] : run.memory)
    if (!bytes.empty()) report.memory[name] = *std::ranges::max_element(bytes);
  for (const auto& [kind, ranks] : run.communication) {
    CommunicationReport& totals = report.communication[kind];
    std::vector<double> seconds, exposed, skew;
    for (const CommunicationTotals& of_rank : ranks) {
      totals.calls = std::max(totals.calls, of_rank.calls);
      totals.payload_bytes = std::max(totals.payload_bytes, static_cast<double>(of_rank.payload_bytes));
      totals.bus_bytes = std::max(totals.bus_bytes, of_rank.bus_bytes);
      seconds.push_back(of_rank.seconds_total);
      exposed.push_back(of_rank.seconds_exposed);
      if (std::isfinite(of_rank.seconds_skew)) skew.push_back(of_rank.seconds_skew);
    }
    totals.seconds_total = mean(seconds);
    totals.seconds_exposed = mean(exposed);
    totals.seconds_skew = skew.empty() ? kNone : mean(skew);
  }
  for (const auto& [direction, bytes] : run.transfers)
    if (run.num_steps && !bytes.empty())
      report.transfers[direction] =
          mean(std::vector<double>(bytes.begin(), bytes.end())) / static_cast<double>(run.num_steps);
  for (const auto& [name, matrix] : run.epochs)
    for (std::size_t epoch = 0; epoch < matrix.length; ++epoch) {
      double longest = 0;
      for (std::size_t rank = 0; rank < matrix.ranks; ++rank)
        if (matrix.at(rank, epoch) > longest) longest = matrix.at(rank, epoch);
      report.epoch_seconds[name] += longest;
    }
}

/// The least number of ranks of the run's segments.
int fewest_ranks(const RunData& run, int ranks) {
  for (const Segment& segment : run.summary.segments)
    ranks = std::min(ranks, static_cast<int>(segment.ranks));
  return ranks;
}

}  // namespace

RunReport reduce_run(const RunData& run, Presence presence) {
  RunReport report;
  report.name = run.summary.name;
  report.status = run.summary.status;
  report.error = run.summary.error;
  report.ranks = run.ranks;
  report.clock = run.clock;
  report.num_steps = static_cast<std::int64_t>(run.num_steps);
  report.metrics = run.summary.metrics;
  copy_settings(run.summary, report);
  if (!report.ranks)
    if (const auto ranks = run.summary.integers.find("ranks"); ranks != run.summary.integers.end())
      report.ranks = static_cast<int>(ranks->second);
  counted_column(run, report);
  reduce_totals(run, report);
  report.evaluation = reduce_evaluation(run.summary);
  report.tuning = reduce_tuning(run.summary);
  const std::vector<Profile> profiles = read_profiles(run.summary.tables);
  report.profile = sum_of(profiles);
  report.resources = reduce_resources(run);
  report.files = reduce_input_files(run);
  const Steps measured = measured_steps(run, presence);
  report.least_ranks = fewest_ranks(run, report.ranks);
  if (presence == Presence::any_ranks) report.fewest_ranks = report.least_ranks;
  report.num_measured = static_cast<std::int64_t>(measured.size());
  if (measured.empty()) return report;
  reduce_rate(run, measured, report);
  reduce_phases(run, measured, report);
  reduce_ranks(run, measured, report);
  report.findings = findings_of(facts_of(run, measured, report.rank_reports, profiles));
  report.text = reduce_text(run, measured);
  return report;
}

}  // namespace multicard::post
