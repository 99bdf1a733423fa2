#include "postproc/figures/ClaimFigures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/DotChart.hpp"
#include "postproc/draw/HeatMap.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/study/ClaimAnswer.hpp"

namespace multicard::post {

namespace {

/// Beyond a tenth and ten times as much dots stand at the edge; their numbers say what they are.
constexpr double kLeast = 0.1, kMost = 10;

Dot dot_of(const std::string& label, const Estimate& ratio, double claimed, const char* colour) {
  Dot dot;
  dot.label = label;
  dot.colour = colour;
  dot.mark = 1 + claimed;
  dot.note = change_text(ratio);
  dot.hover = label + ": " + dot.note;
  if (!ratio.known()) {
    dot.note = "not measured";
    return dot;
  }
  dot.value = std::clamp(ratio.value, kLeast, kMost);
  if (ratio.interval)
    dot.interval =
        ErrorBar{std::clamp(ratio.interval->low, kLeast, kMost), std::clamp(ratio.interval->high, kLeast, kMost)};
  return dot;
}

/// Nothing where no dot has a value.
void add(std::vector<Figure>& figures, const std::string& id, const Finding& title, std::vector<Dot> dots,
         const std::string& subtitle, const std::string& x_name) {
  if (std::ranges::none_of(dots, [](const Dot& dot) { return dot.value.has_value(); })) return;
  DotChart chart;
  chart.subtitle = subtitle;
  chart.x_name = x_name;
  chart.ticks = Ticks::changes;
  chart.dots = std::move(dots);
  figures.push_back(figure_of(id, Section::study, title, chart, {}));
}

constexpr const char* kReading = "Medians of the ratios of each repeat, 95 % intervals; ◇ what is claimed";

std::string name_of(const MemoryUse& use) {
  return fmt::format("{}, {}, {}", use.variant, use.task, use.device);
}

void add_key_figure(const ClaimFile& file, std::vector<Figure>& figures) {
  std::vector<Dot> dots;
  for (const IterationChange& change : iteration_changes(file))
    if (change.variant == "share" && change.base == "tuned")
      dots.push_back(
          dot_of("Iteration time: sharing, " + change.place, change.together, file.rules.iteration_time, kColours[0]));
  for (const MemoryUse& use : memory_uses(file))
    if (use.relative.known())
      dots.push_back(
          dot_of("Memory utilisation: " + name_of(use), use.relative, file.rules.memory_utilisation, kColours[2]));
  for (const CommunicationCost& cost : best_exchanges(file))
    dots.push_back(dot_of(fmt::format("Exposed communication: {}, {}", cost.task, cost.place), cost.exposed_ratio,
                          file.rules.communication, kColours[3]));
  add(figures, "claim", {"What is claimed and what was measured"}, std::move(dots),
      fmt::format("{}. Time over that of the tuned baseline, utilisation over the default, exposed time over that of "
                  "fp32 without overlap",
                  kReading),
      "change");
}

void add_iteration_figure(const ClaimFile& file, std::vector<Figure>& figures) {
  std::vector<Dot> dots;
  for (const IterationChange& change : iteration_changes(file))
    dots.push_back(dot_of(fmt::format("{} against {}, {}", change.variant, change.base, change.place), change.together,
                          file.rules.iteration_time, change.variant == "share" ? kColours[0] : kPlain));
  add(figures, "claim-iteration", {"Iteration time of both tasks, all comparisons"}, std::move(dots), kReading,
      "change");
}

void add_communication_figure(const ClaimFile& file, std::vector<Figure>& figures) {
  std::vector<Dot> dots;
  for (const CommunicationCost& cost : communication_costs(file))
    if (cost.exposed_ratio.known())
      dots.push_back(dot_of(fmt::format("{}, {}, {}", cost.variant, cost.task, cost.place), cost.exposed_ratio,
                            file.rules.communication, cost.is_apart ? kPlain : kColours[3]));
  add(figures, "claim-communication", {"Exposed communication, each step added to those above it"}, std::move(dots),
      fmt::format("{}. Over fp32, flat, without overlap; grey: on its own", kReading), "change");
}

/// Pairs down, GPUs across; the darker the faster.
void add_simulation_figure(std::vector<SimulatedChange> changes, const std::string& work, int number,
                           std::vector<Figure>& figures) {
  std::erase_if(changes, [&](const SimulatedChange& change) { return change.work != work; });
  HeatMap map;
  const auto place = [](std::vector<std::string>& names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    names.push_back(name);
    return names.size() - 1;
  };
  for (const SimulatedChange& change : changes) {
    place(map.rows, change.pair);
    place(map.columns, change.gpus.substr(0, change.gpus.find(' ')));
  }
  map.cells.assign(map.rows.size(), std::vector<HeatCell>(map.columns.size()));
  for (const SimulatedChange& change : changes) {
    HeatCell& cell =
        map.cells[place(map.rows, change.pair)][place(map.columns, change.gpus.substr(0, change.gpus.find(' ')))];
    if (!std::isfinite(change.over_equal)) continue;
    const double percent = 100 * (change.over_equal - 1);
    cell = {HeatCellKind::value, std::clamp(1 - change.over_equal, 0.0, 1.0),
            std::abs(percent) < 0.5 ? "0" : fmt::format("{}{:.0f}", percent < 0 ? "−" : "+", std::abs(percent)),
            change.over_equal - 1};
  }
  map.column_name = "GPUs";
  map.subtitle = fmt::format(
      "Simulated: change of the time until both are done, in %; an hour of work each {}; empty: the equal split cannot "
      "run",
      text_of_work(work));
  figures.push_back(figure_of(numbered("claim-simulation", number), Section::study,
                              {"The best plan against the equal split"}, map, {}));
}

}  // namespace

std::vector<Figure> figures_of(const ClaimFile& file) {
  std::vector<Figure> figures;
  add_key_figure(file, figures);
  add_iteration_figure(file, figures);
  const std::vector<SimulatedChange> changes = simulated_changes(file);
  int number = 0;
  for (const std::string& work : works_of(changes))
    add_simulation_figure(changes, work, number++, figures);
  add_communication_figure(file, figures);
  return figures;
}

}  // namespace multicard::post
