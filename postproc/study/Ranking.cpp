#include "postproc/study/Ranking.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/ShareAnswer.hpp"

namespace multicard::post {

namespace {

/// Baseline values by setting: what one gets without asking for anything better.
constexpr std::array<std::pair<const char*, const char*>, 11> kBaselines{{{"strategy", "dp"},
                                                                          {"precision", "fp32"},
                                                                          {"layout", "nchw"},
                                                                          {"pipeline", "host"},
                                                                          {"gradient_dtype", "same"},
                                                                          {"powersgd_rank", "0"},
                                                                          {"bucket_mb", "auto"},
                                                                          {"case", "plain"},
                                                                          {"case", "baseline"},
                                                                          {"cache", "none"},
                                                                          {"read", "hdf5"}}};

bool is_one_of(const std::vector<std::string>& values, const std::string& value) {
  return std::ranges::find(values, value) != values.end();
}

/// How many options of a configuration have their baseline value.
std::ptrdiff_t num_baseline_values(const Study& study, std::size_t configuration) {
  const auto& settings = study.configurations[configuration].settings;
  return std::ranges::count_if(study.axes, [&](const Axis& axis) {
    return !axis.is_work && !axis.is_learning && settings.at(axis.key) == baseline_value(axis);
  });
}

}  // namespace

const Cell* fastest(const Study& study, const std::vector<std::size_t>& configurations) {
  const Cell* best = nullptr;
  for (const std::size_t configuration : configurations)
    for (const Cell* cell : study.cells_of(configuration))
      if (cell->counts() && (!best || cell->rate.value > best->rate.value)) best = cell;
  return best;
}

const Cell* runner_up(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best) {
  const Cell* second = nullptr;
  for (const std::size_t configuration : configurations) {
    const Cell* cell = study.cell(configuration, best.ranks);
    if (!same_speed(study, configuration, best.configuration) && cell && cell->counts() &&
        (!second || cell->rate.value > second->rate.value))
      second = cell;
  }
  return second;
}

std::string baseline_value(const Axis& axis) {
  const std::string name = short_key(axis.key);
  for (const auto& [key, value] : kBaselines)
    if (name == key && is_one_of(axis.values, value)) return value;
  for (const char* value : {"false", "0"})
    if (is_one_of(axis.values, value)) return value;
  return axis.values.front();
}

const Cell* baseline_cell(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best) {
  // The first of those with most baseline values: max_element keeps the first.
  const std::size_t chosen = *std::ranges::max_element(configurations, [&](std::size_t a, std::size_t b) {
    return num_baseline_values(study, a) < num_baseline_values(study, b);
  });
  const Cell* cell = study.cell(chosen, best.ranks);
  return !same_speed(study, chosen, best.configuration) && cell && cell->counts() ? cell : nullptr;
}

const Cell* largest(const Study& study, std::size_t configuration) {
  const Cell* most = nullptr;
  for (const Cell* cell : study.cells_of(configuration))
    if (cell->counts()) most = cell;
  return most;
}

std::string name_of(const Study& study, const Cell& cell) {
  return fmt::format("{} on {}", study.configuration(cell).full_label(), ranks_text(cell));
}

std::string ranks_range(const Cell& cell) {
  return cell.fewest_ranks == cell.ranks ? std::to_string(cell.ranks)
                                         : fmt::format("{}–{}", cell.fewest_ranks, cell.ranks);
}

std::string ranks_text(const Cell& cell) {
  return ranks_text(cell.fewest_ranks, cell.ranks);
}

std::string ranks_text(int fewest, int most) {
  return fewest == most ? counted(most, "rank") : fmt::format("{} to {}", fewest, counted(most, "rank"));
}

/// rate · step time are the rows of a step.
double compute_cost(const Cell& cell) {
  const double computing = cell.phase(Phase::forward) + cell.phase(Phase::backward) + cell.phase(Phase::update);
  return computing * cell.ranks / (cell.rate.value * cell.step_time.value);
}

const RunReport& representative(const Study& study, const Cell& cell) {
  std::vector<std::size_t> runs = cell.measured;
  std::ranges::sort(runs,
                    [&](std::size_t a, std::size_t b) { return study.runs[a].rate.value < study.runs[b].rate.value; });
  return study.runs[runs[runs.size() / 2]];
}

std::vector<std::string> option_labels(const Study& study) {
  std::vector<std::string> labels;
  for (const Configuration& configuration : study.configurations)
    add_once(labels, configuration.label);
  return labels;
}

std::size_t style_of(const Study& study, std::size_t configuration) {
  // A task of a share has one colour on the whole page, whichever study it is in.
  for (const Source& source : study.sources) {
    const std::vector<std::string> tasks = tasks_of(source.allocation);
    const auto found = std::ranges::find(tasks, study.configurations[configuration].label);
    if (found != tasks.end()) return static_cast<std::size_t>(found - tasks.begin());
  }
  const std::vector<std::string> labels = option_labels(study);
  if (labels.size() == 1) return configuration;  // they differ in work alone
  return static_cast<std::size_t>(std::ranges::find(labels, study.configurations[configuration].label) -
                                  labels.begin());
}

}  // namespace multicard::post
