#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/BarChart.hpp"
#include "postproc/Figures.hpp"
#include "postproc/Findings.hpp"
#include "postproc/Labels.hpp"
#include "postproc/Palette.hpp"

namespace multicard::post {

namespace {

constexpr std::size_t kMostBars = 18, kMostCells = 12;

std::string numbered(const std::string& id, int number) {
  return number == 0 ? id : fmt::format("{}-{}", id, number + 1);
}

std::string failure_note(const Study& study, const Cell& cell) {
  for (const std::size_t run : cell.runs)
    if (const std::string& error = study.runs[run].error; !error.empty()) {
      const std::string line = error.substr(0, error.find('\n'));
      return fmt::format("{}: {}", text_of(cell.status),
                         line.size() > 60 ? line.substr(0, line.rfind(' ', 60)) + " …" : line);
    }
  return text_of(cell.status);
}

/// What a cell is called beside others of `cells`: only what differs, if anything does.
std::string bar_label(const Study& study, const Cell& cell, const std::vector<const Cell*>& cells) {
  const std::string& label = study.configurations[cell.configuration].label;
  const std::string ranks = counted(cell.ranks, "rank");
  const auto same = [&](auto member) {
    return std::all_of(cells.begin(), cells.end(), [&](const Cell* other) { return other->*member == cell.*member; });
  };
  if (same(&Cell::configuration)) return ranks;
  return same(&Cell::ranks) ? label : fmt::format("{}, {}", label, ranks);
}

Bar crossed_bar(const Study& study, const Cell& cell, const std::string& label) {
  Bar bar;
  bar.label = label;
  bar.note = failure_note(study, cell);
  bar.status = BarStatus::failed;
  return bar;
}

/// The cells of `group` for stacked bars: all, or where those are many only each configuration's on most ranks.
std::vector<std::vector<const Cell*>> cells_in_pieces(const Study& study, const std::vector<std::size_t>& group) {
  std::vector<const Cell*> all, last;
  for (const std::size_t configuration : group) {
    const auto cells = study.cells_of(configuration);
    all.insert(all.end(), cells.begin(), cells.end());
    last.push_back(cells.back());
  }
  const std::vector<const Cell*>& chosen = all.size() <= kMostCells ? all : last;
  std::vector<std::vector<const Cell*>> out;
  for (const Cell* cell : chosen) {
    if (out.empty() || out.back().size() == kMostBars) out.emplace_back();
    out.back().push_back(cell);
  }
  return out;
}

/// " on 8 ranks" where all bars have as many, for a subtitle.
std::string on_ranks(const std::vector<const Cell*>& cells) {
  for (const Cell* cell : cells)
    if (cell->ranks != cells.front()->ranks) return {};
  return ", " + counted(cells.front()->ranks, "rank");
}

Bar rate_bar(const Study& study, const Cell& cell) {
  const std::string& label = study.configurations[cell.configuration].label;
  if (cell.status != CellStatus::complete || !cell.rate.known()) return crossed_bar(study, cell, label);
  Bar bar;
  bar.label = label;
  bar.segments = {{cell.rate.value, kColours[style_of(study, cell.configuration) % kColours.size()], "#111111", ""}};
  bar.interval = cell.rate.interval;
  bar.note = significant(cell.rate.value, 3);
  return bar;
}

std::string comparison_title(const Study& study, const std::vector<std::size_t>& group, const Cell& best) {
  const Cell* second = runner_up(study, group, best);
  const std::string& name = study.configurations[best.configuration].label;
  if (!second) return fmt::format("Only {} completed on {}", name, counted(best.ranks, "rank"));
  if (differ(best.rate, second->rate)) return fmt::format("{} is the fastest on {}", name, counted(best.ranks, "rank"));
  return fmt::format("{} and {} cannot be told apart on {}", name, study.configurations[second->configuration].label,
                     counted(best.ranks, "rank"));
}

Bar phase_bar(const Study& study, const Cell& cell, const std::string& label) {
  if (cell.measured.empty()) return crossed_bar(study, cell, label);
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
  if (found == cell.memory.end()) return crossed_bar(study, cell, label);
  Bar bar;
  bar.label = label;
  bar.segments = {{static_cast<double>(found->second) / 1e9,
                   kColours[style_of(study, cell.configuration) % kColours.size()], "#111111", ""}};
  bar.note = human_bytes(static_cast<double>(found->second));
  return bar;
}

}  // namespace

void add_comparison_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  for (const auto& group : study.comparable()) {
    const Cell* best = fastest(study, group);
    if (group.size() < 2 || !best) continue;
    for (const auto& piece : pieces(group, kMostBars)) {
      BarChart chart;
      for (const std::size_t configuration : piece)
        if (const Cell* cell = study.cell(configuration, best->ranks)) chart.bars.push_back(rate_bar(study, *cell));
      if (chart.bars.empty()) continue;
      chart.title = comparison_title(study, group, *best);
      chart.subtitle =
          fmt::format("{}. {} each, 95 % intervals", common_settings(study, group), counted(best->ranks, "rank"));
      chart.x_name = study.rate_unit();
      const Cell* second = runner_up(study, group, *best);
      const std::string caption = second ? comparison_sentence(study, *best, *second, "the second") : std::string();
      figures.push_back(figure_of(numbered("comparison", number++), Section::study, chart, caption));
    }
  }
}

void add_phase_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  for (const auto& group : study.comparable())
    for (const auto& cells : cells_in_pieces(study, group)) {
      if (std::all_of(cells.begin(), cells.end(), [](const Cell* cell) { return cell->measured.empty(); })) continue;
      BarChart chart;
      for (const Cell* cell : cells)
        chart.bars.push_back(phase_bar(study, *cell, bar_label(study, *cell, cells)));
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
