#include "ClosingTable.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "Runs.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

void log_row(const char* name, const std::string& text) {
  log_info(fmt::format("  {:<12}{}", name, text));
}

/// The value that `part` of the values do not exceed; `values` must not be empty.
double quantile(std::vector<double> values, double part) {
  const auto place = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

void log_times(const SessionResult& result) {
  const std::vector<StepTimes>& steps = result.record.steps;
  if (steps.empty()) return;
  const auto skipped = static_cast<std::size_t>(result.summary.skip_steps);
  const std::size_t first = skipped < steps.size() ? skipped : 0;
  std::vector<double> rates, seconds;
  std::array<double, kPhaseNames.size()> phases{};
  double total = 0;
  for (std::size_t i = first; i < steps.size(); ++i) {
    rates.push_back(static_cast<double>(result.work[i]) / steps[i].step);
    seconds.push_back(steps[i].step);
    total += steps[i].step;
    for (std::size_t phase = 0; phase < phases.size(); ++phase)
      phases[phase] += steps[i].phases[phase];
  }
  const auto ms = [&](double part) { return significant(1e3 * quantile(seconds, part)); };
  log_row("rate", fmt::format("{} {}/s, median of {} steps after the first {}", significant(median(rates)),
                              result.unit.abbreviation, seconds.size(), first));
  log_row("step", fmt::format("{} ms median, {} ms at 95 %, {} ms longest", significant(1e3 * median(seconds)),
                              ms(0.95), ms(1.0)));
  std::vector<std::string> shares;
  for (std::size_t phase = 0; phase < phases.size(); ++phase)
    shares.push_back(fmt::format("{} {} %", kPhaseNames[phase], significant(100 * phases[phase] / total, 2)));
  log_row("phases", join(shares, ", "));
}

/// Collective.
void log_memory(const SessionResult& result, const Communicator& world) {
  const auto largest = [&](const char* name) {
    return static_cast<double>(world.allreduce(result.record.memory.at(name), ReduceOp::max));
  };
  const double host = largest("host_peak_bytes"), device = largest("device_peak_bytes");
  log_row("memory", fmt::format("peak {} a rank{}", human_bytes(host),
                                device > 0 ? fmt::format(", {} on its GPU", human_bytes(device)) : ""));
}

void log_scores(const std::map<std::string, MetricSeries>& metrics) {
  if (const auto loss = metrics.find("train_loss"); loss != metrics.end() && !loss->second.values.empty())
    log_row("train loss",
            fmt::format("{} at step {}", significant(loss->second.values.back()), loss->second.steps.back()));
  const auto found = metrics.find("eval_accuracy");
  if (found == metrics.end() || found->second.values.empty()) return;
  const MetricSeries& accuracy = found->second;
  const auto best = std::max_element(accuracy.values.begin(), accuracy.values.end()) - accuracy.values.begin();
  log_row("accuracy", fmt::format("{} after {} steps, best {} after {}", significant(accuracy.values.back()),
                                  accuracy.steps.back(), significant(accuracy.values[static_cast<std::size_t>(best)]),
                                  accuracy.steps[static_cast<std::size_t>(best)]));
}

}  // namespace

void log_closing_table(const SessionResult& result, const Communicator& world, const std::string& output) {
  log_times(result);
  log_memory(result, world);
  log_scores(result.summary.metrics);
  if (const auto checkpoint = CheckpointStore(output, 1).newest()) log_row("checkpoint", *checkpoint);
}

}  // namespace multicard
