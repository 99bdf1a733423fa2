#include "ClosingTable.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "base/AnyError.hpp"
#include "base/Log.hpp"
#include "base/Quantiles.hpp"
#include "base/Text.hpp"
#include "findings/RunRules.hpp"
#include "results/Divergence.hpp"
#include "results/MeasuredSteps.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

namespace {

void log_row(const char* name, const std::string& text) {
  log_info(fmt::format("  {:<12}{}", name, text));
}

/// Collective.
void log_times(const RunResult& result, const Communicator& world) {
  const MeasuredSteps steps = measure_steps(result.summary, result.rows, world);
  if (steps.seconds.empty()) return;
  const auto ms = [&](double part) { return significant(1e3 * percentile(steps.seconds, part)); };
  log_row("rate", fmt::format("{} {}/s, median of {} steps after the first {}{}", significant(median(steps.rates)),
                              result.unit.abbreviation, steps.seconds.size(), steps.num_skipped,
                              result.summary.segments.size() > 1 ? " of each part" : ""));
  log_row("step", fmt::format("{} ms median, {} ms at 95 %, {} ms longest", ms(0.5), ms(0.95), ms(1)));
  std::vector<std::string> shares;
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase)
    shares.push_back(
        fmt::format("{} {} %", kPhaseNames[phase], significant(steps.percent(static_cast<Phase>(phase)), 2)));
  log_row("phases", join(shares, ", "));
}

/// Collective.
void log_memory(const RunResult& result, const Communicator& world) {
  // There is none of a device without one.
  const auto largest = [&](const char* name) {
    const auto found = result.record.memory.find(name);
    const std::int64_t bytes = found == result.record.memory.end() ? 0 : found->second;
    return static_cast<double>(world.allreduce(bytes, ReduceOp::max));
  };
  const double host = largest("host_peak_bytes"), device = largest("device_peak_bytes");
  log_row("memory", fmt::format("peak {} per rank, program and libraries included{}", human_bytes(host),
                                device > 0 ? fmt::format("; {} on its GPU", human_bytes(device)) : ""));
}

/// The last value and the best one. \param better whether the first of two values is better
void log_best(const char* name, const MetricSeries& series, bool (*better)(double, double)) {
  if (series.values.empty()) return;
  const auto best = std::min_element(series.values.begin(), series.values.end(), better) - series.values.begin();
  log_row(name, fmt::format("{} after {} steps, best {} after {}", significant(series.values.back()),
                            series.steps.back(), significant(series.values[static_cast<std::size_t>(best)]),
                            series.steps[static_cast<std::size_t>(best)]));
}

void log_scores(const std::map<std::string, MetricSeries>& metrics) {
  if (const auto loss = metrics.find("train_loss"); loss != metrics.end() && !loss->second.values.empty()) {
    // Steps are counted from 0 in files, from 1 for people.
    log_row("train loss",
            fmt::format("{} of step {}", significant(loss->second.values.back()), loss->second.steps.back() + 1));
    // Over all losses of the run, where DivergenceWatch saw them one by one.
    if (const auto finding = divergence(loss->second.values))
      log_warning(
          fmt::format("training diverged: {}. Lower optimizer.learning_rate or set optimizer.clip_norm.", *finding));
  }
  if (const auto accuracy = metrics.find("eval_accuracy"); accuracy != metrics.end())
    log_best("accuracy", accuracy->second, [](double a, double b) { return a > b; });
  else if (const auto loss = metrics.find("eval_loss"); loss != metrics.end())
    log_best("test loss", loss->second, [](double a, double b) { return a < b; });
  if (const auto share = metrics.find("eval_exact_match"); share != metrics.end() && !share->second.values.empty()) {
    const MetricSeries& series = share->second;
    const bool was_asked_before = series.steps.front() == 0 && series.steps.size() > 1;
    log_row("exact match", fmt::format("{} after {} steps{}", significant(series.values.back()), series.steps.back(),
                                       was_asked_before ? fmt::format(", {} before", significant(series.values.front()))
                                                        : std::string()));
  }
}

/// What the model needs by its formula, whatever the program computes twice.
void log_utilisation(const RunResult& result, int num_ranks) {
  const auto found = result.summary.metrics.find("model_flops_per_s");
  if (found == result.summary.metrics.end() || found->second.values.empty()) return;
  // The metric is of all ranks together, the peak of one device.
  const double rate = median(found->second.values) / num_ranks;
  const auto peak = result.summary.reals.find("peak_flops_per_s");
  std::string share = "utilisation n/a, no peak is known for this device";
  if (peak != result.summary.reals.end()) {
    share = fmt::format("utilisation {} % of {} TFLOP/s", significant(100 * rate / peak->second, 3),
                        significant(peak->second / 1e12));
    if (rate > peak->second) share += ", above its peak: the device or the measurement is faulty";
  }
  log_row("model", fmt::format("{} TFLOP/s per rank, {}", significant(rate / 1e12, 3), share));
}

}  // namespace

void log_closing_table(const RunResult& result, const Communicator& world, const std::string& output) {
  log_times(result, world);
  log_utilisation(result, world.size());
  log_memory(result, world);
  log_scores(result.summary.metrics);
  if (const auto checkpoint = CheckpointStore(output, 1).newest()) log_row("checkpoint", *checkpoint);
}

void log_findings(const std::string& results) {
  try {
    // Rules compare ranks step by step: the file has the records of all of them.
    const RunData run = ResultsFile::open(results, Seal::is_checked).run("main");
    for (const Finding& finding : findings_of(facts_of(run, measured_steps(run))))
      log_row("finding", finding.text);
  } catch (const std::exception& error) {  // the run is complete, whether or not it can be judged
    log_warning(fmt::format("what slows the run down is not known: {}", as_error(error).what()));
  }
}

}  // namespace multicard
