#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Bars.hpp"
#include "postproc/Figures.hpp"
#include "postproc/Findings.hpp"
#include "postproc/Labels.hpp"
#include "postproc/Palette.hpp"
#include "postproc/Standings.hpp"

namespace multicard::post {

namespace {

Bar phase_bar(const Cell& cell, const std::string& label) {
  if (cell.measured.empty()) return crossed_bar(cell, label);
  Bar bar;
  bar.label = label;
  for (std::size_t p = 0; p < kNumPhases; ++p)
    bar.segments.push_back({1000 * cell.phases[p], kPhaseColours[p], kPhaseInk[p],
                            fmt::format("{:.0f} %", 100 * cell.phases[p] / cell.mean_step)});
  bar.note = significant(1000 * cell.mean_step, 3) + " ms";
  if (cell.status != CellStatus::complete) bar.note += fmt::format(" ({})", text_of(cell.status));
  return bar;
}

std::string phase_title(const Study& study, const std::vector<const Cell*>& cells) {
  const Cell* waiting = nullptr;
  for (const Cell* cell : cells)
    if (!cell->measured.empty() && (!waiting || cell->exposed_share > waiting->exposed_share)) waiting = cell;
  if (!waiting) return "No step was measured";
  const std::string who = study.configurations.size() == 1
                              ? "A step on " + counted(waiting->ranks, "rank")
                              : fmt::format("{} on {}", study.configurations[waiting->configuration].label,
                                            counted(waiting->ranks, "rank"));
  if (waiting->ranks == 1 || waiting->exposed_share < 0.005)
    return fmt::format("{} waits {} of its time for data", who, percent(waiting->data_wait_share));
  return fmt::format("{} waits {} of its time for collectives", who, percent(waiting->exposed_share));
}

/// The counter to show: of the device where there is one.
std::string memory_counter(const Study& study) {
  for (const char* name : {"device_peak_bytes", "host_peak_bytes"})
    for (const Cell& cell : study.cells)
      if (const auto found = cell.memory.find(name); found != cell.memory.end() && found->second > 0) return name;
  return {};
}

Bar memory_bar(const Study& study, const Cell& cell, const std::string& label, const std::string& counter) {
  const auto found = cell.memory.find(counter);
  if (found == cell.memory.end()) return crossed_bar(cell, label);
  Bar bar;
  bar.label = label;
  bar.segments = {{static_cast<double>(found->second) / 1e9,
                   kColours[style_of(study, cell.configuration) % kColours.size()], "#111111", ""}};
  bar.note = human_bytes(static_cast<double>(found->second));
  return bar;
}

}  // namespace

void add_phase_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  for (const auto& group : study.comparable())
    for (const auto& cells : cells_in_pieces(study, group)) {
      if (std::all_of(cells.begin(), cells.end(), [](const Cell* cell) { return cell->measured.empty(); })) continue;
      BarChart chart;
      for (const Cell* cell : cells)
        chart.bars.push_back(phase_bar(*cell, bar_label(study, *cell, cells)));
      for (std::size_t p = 0; p < kNumPhases; ++p) {
        std::string name = kPhaseNames[p];
        std::replace(name.begin(), name.end(), '_', ' ');
        chart.legend.emplace_back(kPhaseColours[p], name);
      }
      chart.title = phase_title(study, cells);
      chart.subtitle = fmt::format("{}{}. Mean over ranks and measured steps, {}", common_settings(study, group),
                                   on_ranks(cells), repeats_text(cells));
      chart.x_name = "ms of a step";
      const Cell* best = fastest(study, group);
      figures.push_back(figure_of(numbered("phases", number++), Section::phases, chart,
                                  best ? limit_sentence(study, *best) : std::string()));
    }
}

void add_memory_figures(const Study& study, std::vector<Figure>& figures) {
  const std::string counter = memory_counter(study);
  if (counter.empty()) return;
  int number = 0;
  for (const auto& group : study.comparable())
    for (const auto& cells : cells_in_pieces(study, group)) {
      BarChart chart;
      std::int64_t most = 0;
      for (const Cell* cell : cells) {
        chart.bars.push_back(memory_bar(study, *cell, bar_label(study, *cell, cells), counter));
        if (const auto found = cell->memory.find(counter); found != cell->memory.end())
          most = std::max(most, found->second);
      }
      if (most == 0) continue;
      chart.title = fmt::format("A rank needs up to {} of {} memory", human_bytes(static_cast<double>(most)),
                                counter == "device_peak_bytes" ? "device" : "host");
      chart.subtitle =
          fmt::format("{}{}. Peak of the rank that needs most", common_settings(study, group), on_ranks(cells));
      chart.x_name = "GB";
      figures.push_back(
          figure_of(numbered("memory", number++), Section::memory, chart, "The largest peak over ranks and repeats."));
    }
}

}  // namespace multicard::post
