#include "scheduling/rates/MeasuredRates.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Estimate.hpp"
#include "results/MeasuredSteps.hpp"
#include "results/ResultsReader.hpp"
#include "results/TrialRead.hpp"

namespace multicard {

namespace {

constexpr double kBytesOfGb = 1e9;

/// Samples per second of one step; nullopt where a rank is absent.
std::optional<double> step_rate(const RunData& run, std::size_t step) {
  const auto seconds = run.times.find("step");
  const auto samples = run.counts.find("samples");
  if (seconds == run.times.end() || samples == run.counts.end()) return std::nullopt;
  // A step is over when its slowest rank is, and has then done the samples of all.
  double longest = 0, sum = 0;
  for (std::size_t rank = 0; rank < seconds->second.ranks; ++rank) {
    const double own = seconds->second.at(rank, step);
    if (!(std::isfinite(own) && own > 0)) return std::nullopt;
    longest = std::max(longest, own);
    sum += static_cast<double>(samples->second.at(rank, step));
  }
  return sum / longest;
}

/// Nothing of a run without steps.
std::optional<Estimate> rate_of(const RunData& run) {
  std::vector<double> all, after_warm_up;
  for (std::size_t step = 0; step < run.num_steps; ++step) {
    const std::optional<double> rate = step_rate(run, step);
    if (!rate) continue;
    all.push_back(*rate);
    if (!is_warm_up(run.summary, run.first_step, step)) after_warm_up.push_back(*rate);
  }
  if (all.empty()) return std::nullopt;
  // A short run may consist of its warm-up alone.
  return estimate_of_steps(after_warm_up.empty() ? all : after_warm_up);
}

double memory_of(const RunData& run) {
  const auto bytes = run.memory.find("device_reserved_bytes");
  if (bytes == run.memory.end() || bytes->second.empty()) return 0;
  return static_cast<double>(*std::max_element(bytes->second.begin(), bytes->second.end())) / kBytesOfGb;
}

/// What the repeats of a variant measured.
struct Repeats {
  std::vector<Estimate> rates;
  double memory_gb = 0;
};

}  // namespace

RateTable read_measured_rates(const std::string& path) {
  read_on_trial(path);
  const ResultsFile file = ResultsFile::open(path, Seal::is_checked);
  std::map<std::pair<int, std::string>, Repeats> variants;  // by ranks and deck
  for (const std::string& name : file.run_names()) {
    const RunData run = file.run(name);
    if (run.summary.status == "failed") continue;
    const std::optional<Estimate> rate = rate_of(run);
    if (!rate) continue;
    const auto deck = run.summary.text.find("deck");
    Repeats& repeats = variants[{run.ranks, deck == run.summary.text.end() ? std::string() : deck->second}];
    repeats.rates.push_back(*rate);
    // A plan must fit in every run, so the most of any repeat counts.
    repeats.memory_gb = std::max(repeats.memory_gb, memory_of(run));
  }
  if (variants.empty())
    throw DataError(fmt::format("{} has no run with measured steps", path), "",
                    "Measure the task with a sweep over ranks.");
  std::vector<RateRow> rows;
  rows.reserve(variants.size());
  for (const auto& [key, repeats] : variants) {
    const Estimate rate = estimate_of_repeats(repeats.rates);
    rows.push_back({key.first, 0, rate.value, repeats.memory_gb, rate.interval});
  }
  return RateTable(std::move(rows));
}

}  // namespace multicard
