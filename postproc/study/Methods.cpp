#include "postproc/study/Methods.hpp"

#include <cmath>
#include <set>

#include "postproc/study/Axes.hpp"
#include "postproc/study/Ranking.hpp"
#include "results/DeckText.hpp"

namespace multicard::post {

namespace {

/// Names of the counters are those of docs/results_file.md. Trained adapters are among the parameters, the reference
/// copy among the frozen ones; both are shown by themselves.
std::optional<MemorySplit> memory_of(const Cell& cell) {
  MemorySplit split;
  split.on_device = number_in(cell.memory, "device_peak_bytes") > 0;
  split.peak = number_in(cell.memory, split.on_device ? "device_peak_bytes" : "host_peak_bytes");
  split.adapters = number_in(cell.memory, "model/adapters");
  split.reference = number_in(cell.memory, "model/reference");
  split.gradients = number_in(cell.memory, "model/gradients");
  split.optimizer = number_in(cell.memory, "model/optimizer");
  split.activations = number_in(cell.memory, "model/activations");
  split.weights = number_in(cell.memory, "model/parameters") + number_in(cell.memory, "model/frozen") - split.adapters -
                  split.reference;
  split.rest = split.peak - split.weights - split.adapters - split.reference - split.gradients - split.optimizer;
  return std::isfinite(split.rest) ? std::optional(split) : std::nullopt;
}

/// The last value of a metric after the first step; unknown where there is none.
double last_value(const RunReport& run, const char* name) {
  const MetricSeries* metric = run.metric(name);
  return metric && metric->steps.back() != 0 ? metric->values.back() : kNone;
}

/// Over repeats the interval of repeats; of one run that of a share of its pairs.
Estimate accuracy_of(const Study& study, const Cell& cell) {
  std::vector<Estimate> repeats;
  for (const std::size_t index : cell.measured) {
    const RunReport& run = study.runs[index];
    const double share = last_value(run, "eval_reward_accuracy"), pairs = last_value(run, "eval_samples");
    if (!std::isfinite(share)) continue;
    Estimate accuracy{share, std::nullopt, Basis::none, 1};
    // One run has no spread over repeats, but its accuracy is a share of pairs: Wilson's interval.
    if (pairs > 0) accuracy.interval = estimate_of_share(std::lround(share * pairs), std::lround(pairs)).interval;
    repeats.push_back(accuracy);
  }
  if (repeats.size() == 1) return repeats.front();
  return estimate_of_repeats(repeats);
}

/// Traffic is of the run with the median rate, memory the largest of all.
MethodCell method_cell(const Study& study, const Cell& cell) {
  const RunReport& run = representative(study, cell);
  MethodCell out;
  out.cell = &cell;
  out.label = study.configuration(cell).full_label();
  out.method = method_of(run);
  out.objective = out.method.ends_with("dpo") ? Objective::preference : Objective::next_token;
  out.memory = memory_of(cell);
  out.on_cpu = run.on_cpu();
  out.host_to_device = number_in(run.transfers, "host_to_device");
  out.device_to_device = number_in(run.transfers, "device_to_device");
  if (const auto found = run.communication.find("all_reduce"); found != run.communication.end() && run.num_steps > 0) {
    out.reduced = found->second.payload_bytes / static_cast<double>(run.num_steps);
    out.on_bus = found->second.bus_bytes / static_cast<double>(run.num_steps);
  }
  if (out.objective == Objective::preference)
    out.preference_accuracy = accuracy_of(study, cell);
  else
    out.held_out_loss = cell.test_loss;
  out.num_held_out = last_value(run, "eval_samples");
  return out;
}

}  // namespace

std::string method_of(const RunReport& run) {
  // The most exact first: the resolved deck, what the sweep set, the attribute.
  if (std::string name = deck_value(run.deck, "method.name"); !name.empty()) return name;
  if (std::string name = setting(run, "method.name"); !name.empty()) return name;
  return setting(run, "method");
}

bool compares_methods(const Study& study) {
  std::set<std::string> methods;
  for (const RunReport& run : study.runs)
    if (const std::string method = method_of(run); run.text && !method.empty()) methods.insert(method);
  return methods.size() > 1;
}

std::vector<MethodCell> method_cells(const Study& study) {
  std::vector<MethodCell> out;
  for (const Cell& cell : study.cells)
    if (!cell.measured.empty()) out.push_back(method_cell(study, cell));
  return out;
}

const char* text_of(Objective objective) {
  return objective == Objective::preference ? "preferences" : "next-token prediction";
}

}  // namespace multicard::post
