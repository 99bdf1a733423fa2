#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

/// Of the shares of phases, and as many of memory.
constexpr std::size_t kMostFigures = 3;
/// Of more kinds of work there are no figures of times; more cells of one kind are reduced to one for each
/// configuration.
constexpr std::size_t kMostPhaseGroups = 2, kMostCells = 12;

/// All cells where they fit into one figure, else each configuration's on most ranks, in the first few figures.
std::vector<std::vector<const Cell*>> cells_in_figures(const Study& study) {
  std::vector<std::vector<const Cell*>> figures = cells_in_pieces(study, all_configurations(study), kMostBars);
  figures.resize(std::min(figures.size(), kMostFigures));
  return figures;
}

std::vector<std::size_t> configurations_of(const std::vector<const Cell*>& cells) {
  std::vector<std::size_t> out;
  out.reserve(cells.size());
  for (const Cell* cell : cells)
    out.push_back(cell->configuration);
  return out;
}

/// bar_label() with the kind of work where the cells differ in it.
std::string full_bar_label(const Study& study, const Cell& cell, const std::vector<const Cell*>& cells) {
  const std::string& work = study.configuration(cell).work_label;
  std::string label = bar_label(study, cell, cells);
  const bool same_work =
      std::ranges::all_of(cells, [&](const Cell* other) { return study.configuration(*other).work_label == work; });
  const bool same_options = std::ranges::all_of(
      cells, [&](const Cell* other) { return study.configuration(*other).label == study.configuration(cell).label; });
  if (same_work) return label;
  if (!same_options) return label + ", " + work;
  const bool same_ranks = std::ranges::all_of(cells, [&](const Cell* other) { return other->ranks == cell.ranks; });
  return same_ranks ? work : fmt::format("{}, {}", work, counted(cell.ranks, "rank"));
}

enum class StepScale { percent, milliseconds };

/// The phases of a step, labelled with their shares.
Bar step_bar(const Study& study, const Cell& cell, const std::string& label, StepScale scale) {
  if (cell.measured.empty()) return crossed_bar(cell, label);
  Bar bar;
  bar.label = label;
  for (std::size_t p = 0; p < kNumPhases; ++p) {
    const double share = 100 * cell.phases[p] / cell.mean_step;
    const bool is_percent = scale == StepScale::percent;
    bar.segments.push_back(phase_segment(p, is_percent ? share : 1000 * cell.phases[p],
                                         fmt::format("{:.0f}{}", share, is_percent ? "" : " %")));
  }
  bar.note = significant(1000 * cell.mean_step, 3) + " ms";
  bar.hover = origin_of(study, cell);
  if (cell.status != CellStatus::complete) bar.note += fmt::format(" ({})", text_of(cell.status));
  return bar;
}

/// Failed cells alone are no figure.
bool none_measured(const std::vector<const Cell*>& cells) {
  return std::ranges::all_of(cells, [](const Cell* cell) { return cell->measured.empty(); });
}

/// The cells whose steps compute for the smallest and for the largest share.
std::pair<const Cell*, const Cell*> extremes(const std::vector<const Cell*>& cells) {
  const Cell *least = nullptr, *most = nullptr;
  for (const Cell* cell : cells) {
    if (cell->measured.empty()) continue;
    if (!least || cell->computing_share() < least->computing_share()) least = cell;
    if (!most || cell->computing_share() > most->computing_share()) most = cell;
  }
  return {least, most};
}

/// The span of computing: what is not computing is waiting or copying.
Finding share_title(const Study& study, const std::vector<const Cell*>& cells) {
  const auto [least, most] = extremes(cells);
  const double low = least->computing_share(), high = most->computing_share();
  if (least == most) return {fmt::format("A step spends {} computing", percent(low)), {{"computing", low}}};
  return {fmt::format("Computing takes from {} ({}) to {} of a step", percent(low),
                      full_bar_label(study, *least, cells), percent(high)),
          {{"least", low}, {"most", high}, {"ranks", least->ranks}}};
}

std::string share_sentence(const Study& study, const std::vector<const Cell*>& cells) {
  const Cell& least = *extremes(cells).first;
  return fmt::format(
      "{} spends {} computing, {} waiting for collectives, {} waiting for data, {} copying it and {} on "
      "the rest. In the bars: % of the step. At right: its mean time.",
      name_of(study, least), percent(least.computing_share()), percent(least.exposed_share),
      percent(least.data_wait_share), percent(least.share(Phase::transfer)), percent(least.share(Phase::other)));
}

/// Who waits most for collectives; where none does measurably, for data.
Finding phase_title(const Study& study, const std::vector<const Cell*>& cells) {
  const Cell* waiting = nullptr;
  for (const Cell* cell : cells)
    if (!cell->measured.empty() && (!waiting || cell->exposed_share > waiting->exposed_share)) waiting = cell;
  if (!waiting) return {"No step was measured"};
  const std::string who = study.configurations.size() == 1
                              ? "A step on " + ranks_text(*waiting)
                              : fmt::format("{} on {}", study.configuration(*waiting).label, ranks_text(*waiting));
  const Evidence evidence{{"ranks", waiting->ranks},
                          {"fewest_ranks", waiting->fewest_ranks},
                          {"data_wait", waiting->data_wait_share},
                          {"exposed", waiting->exposed_share}};
  if (waiting->ranks == 1 || waiting->exposed_share < 0.005)
    return {fmt::format("{} waits {} of its time for data", who, percent(waiting->data_wait_share)), evidence};
  return {fmt::format("{} waits {} of its time for collectives", who, percent(waiting->exposed_share)), evidence};
}

/// The counter to show: of the device where there is one.
std::string memory_counter(const Study& study) {
  for (const char* name : {"device_peak_bytes", "host_peak_bytes"})
    for (const Cell& cell : study.cells)
      if (number_in(cell.memory, name) > 0) return name;
  return {};
}

/// The counter's peak over ranks and repeats.
Bar memory_bar(const Study& study, const Cell& cell, const std::string& label, const std::string& counter) {
  const double bytes = number_in(cell.memory, counter);
  if (std::isnan(bytes)) return crossed_bar(cell, label);
  Bar bar;
  bar.label = label;
  bar.segments = {{bytes / 1e9, colour_of(study, cell), ""}};
  bar.hover = origin_of(study, cell);
  bar.note = human_bytes(bytes);
  return bar;
}

}  // namespace

void add_share_figures(const Study& study, std::vector<Figure>& figures) {
  if (study.comparable().size() <= kMostPhaseGroups) return;  // the figures of phases have the shares too
  int number = 0;
  for (const std::vector<const Cell*>& cells : cells_in_figures(study)) {
    if (none_measured(cells)) continue;
    BarChart chart;
    for (const Cell* cell : cells)
      chart.bars.push_back(step_bar(study, *cell, full_bar_label(study, *cell, cells), StepScale::percent));
    chart.legend = phase_legend();
    const Finding title = share_title(study, cells);
    chart.subtitle =
        fmt::format("{}{}. Collectives: waiting time. Mean over ranks and measured steps, {}",
                    common_settings(study, configurations_of(cells)), on_ranks(cells), repeats_text(cells));
    chart.x_name = "% of a step";
    figures.push_back(figure_of(numbered("share", number++), Section::phases, title, chart,
                                share_sentence(study, cells), "Share of metrics"));
  }
}

void add_phase_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  const auto groups = study.comparable();
  if (groups.size() > kMostPhaseGroups) return;  // their shares say the same
  for (const auto& group : groups)
    for (const auto& cells : cells_in_pieces(study, group, kMostCells)) {
      if (none_measured(cells)) continue;
      BarChart chart;
      for (const Cell* cell : cells)
        chart.bars.push_back(step_bar(study, *cell, bar_label(study, *cell, cells), StepScale::milliseconds));
      chart.legend = phase_legend();
      const Finding title = phase_title(study, cells);
      chart.subtitle = fmt::format("{}{}. Mean over ranks and measured steps, {}", common_settings(study, group),
                                   on_ranks(cells), repeats_text(cells));
      chart.x_name = "ms per step";
      figures.push_back(figure_of(numbered("phases", number++), Section::phases, title, chart,
                                  "In the bars: % of the step. At right: its mean time.", "Times of a step"));
    }
}

void add_memory_figures(const Study& study, std::vector<Figure>& figures) {
  const std::string counter = memory_counter(study);
  if (counter.empty() || compares_methods(study)) return;  // of methods the parts are shown
  int number = 0;
  for (const std::vector<const Cell*>& cells : cells_in_figures(study)) {
    BarChart chart;
    double most = 0;
    for (const Cell* cell : cells) {
      chart.bars.push_back(memory_bar(study, *cell, full_bar_label(study, *cell, cells), counter));
      most = std::fmax(most, number_in(cell->memory, counter));
    }
    if (most == 0) continue;
    const Finding title{fmt::format("A rank needs up to {} of {} memory", human_bytes(most),
                                    counter == "device_peak_bytes" ? "device" : "host"),
                        {{"bytes", most}}};
    chart.subtitle = fmt::format("{}{}. The largest peak over ranks and repeats",
                                 common_settings(study, configurations_of(cells)), on_ranks(cells));
    chart.x_name = "GB";
    figures.push_back(figure_of(numbered("memory", number++), Section::memory, title, chart, {}));
  }
}

}  // namespace multicard::post
