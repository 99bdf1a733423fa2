#include "ClosingTable.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "MeasuredSteps.hpp"
#include "base/Log.hpp"
#include "base/Quantiles.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

void log_row(const char* name, const std::string& text) {
  log_info(fmt::format("  {:<12}{}", name, text));
}

void log_times(const SessionResult& result) {
  const MeasuredSteps steps = measured_steps(result);
  if (steps.seconds.empty()) return;
  const auto ms = [&](double part) { return significant(1e3 * percentile(steps.seconds, part)); };
  log_row("rate", fmt::format("{} {}/s, median of {} steps after the first {}", significant(median(steps.rates)),
                              result.unit.abbreviation, steps.seconds.size(), steps.num_skipped));
  log_row("step", fmt::format("{} ms median, {} ms at 95 %, {} ms longest", ms(0.5), ms(0.95), ms(1)));
  std::vector<std::string> shares;
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase)
    shares.push_back(
        fmt::format("{} {} %", kPhaseNames[phase], significant(steps.percent(static_cast<Phase>(phase)), 2)));
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
