#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/LineChart.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/DataSets.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

constexpr const char* kHeading = "Tuning methods side by side";

struct MemoryKind {
  const char* name;
  double MemorySplit::*bytes;
  const char* colour;
};

/// In the order of the bars; the warm colours are what a smaller method saves.
constexpr std::array<MemoryKind, 6> kKinds{{{"weights", &MemorySplit::weights, "#8FA3CF"},
                                            {"reference copy", &MemorySplit::reference, "#C3CFEA"},
                                            {"adapters", &MemorySplit::adapters, "#93CFAE"},
                                            {"gradients", &MemorySplit::gradients, "#E9C39B"},
                                            {"optimizer", &MemorySplit::optimizer, "#DDA0A0"},
                                            {"activations and the rest", &MemorySplit::rest, "#C6CACE"}}};

/// A figure of what `of` is for every cell that has it.
struct MethodBars {
  std::string id, x_name, title, caption;
  std::function<Estimate(const MethodCell&)> of;
};

/// Bytes that no rank sends or copies are no bar.
Estimate megabytes(double bytes) {
  return bytes > 0 ? Estimate{bytes / 1e6, std::nullopt, Basis::none, 1} : Estimate{};
}

/// Ranks on CPUs copy nothing to a device: no bar rather than one of 0.
std::function<Estimate(const MethodCell&)> copied(double MethodCell::*bytes) {
  return [bytes](const MethodCell& cell) { return cell.on_cpu ? Estimate{} : megabytes(cell.*bytes); };
}

std::vector<MethodBars> speed_bars(const std::string& rate_unit) {
  return {{"methods-time", "milliseconds per step", "The time of an iteration by tuning method",
           "Of the slowest rank. A row of a preference method is a pair: two sequences.",
           [](const MethodCell& cell) { return in_milliseconds(cell.cell->step_time); }},
          {"methods-rate", rate_unit, "The rate of each tuning method",
           "Tokens of the input, of a pair those of both sequences: padding does not count.",
           [](const MethodCell& cell) { return cell.cell->rate; }}};
}

const std::vector<MethodBars>& traffic_and_score_bars() {
  static const std::vector<MethodBars> kBars{
      {"methods-bus", "MB a step and rank", "What a step sends over the interconnect",
       "Bytes of all-reduces on the bus by nccl-tests' formula. One rank sends nothing.",
       [](const MethodCell& cell) { return megabytes(cell.on_bus); }},
      {"methods-host_to_device", "MB a step and rank", "What a step copies from host to device",
       "The program's own copies, of batches.", copied(&MethodCell::host_to_device)},
      {"methods-device_to_device", "MB a step and rank", "What a step copies within the device",
       "By cudaMemcpy and its variants, LibTorch's own calls among them.", copied(&MethodCell::device_to_device)},
      {"methods-loss", "held-out loss", "Held-out loss of methods that predict tokens",
       "After the last step, mean over held-out target tokens; lower is better. Those of qat and lora-qat are of the "
       "rounded model.",
       &MethodCell::held_out_loss},
      {"methods-accuracy", "preference accuracy", "Held-out preference accuracy of DPO methods",
       "After the last step: share of held-out pairs whose chosen answer has the larger reward.",
       &MethodCell::preference_accuracy}};
  return kBars;
}

void add_bars(const Study& study, const std::vector<MethodCell>& cells, const std::vector<MethodBars>& all,
              std::vector<Figure>& figures) {
  for (const MethodBars& bars : all) {
    if (std::ranges::none_of(cells, [&](const MethodCell& cell) { return bars.of(cell).known(); })) continue;
    const auto of = [&](const Cell& cell) {
      const auto found = std::ranges::find(cells, &cell, &MethodCell::cell);
      return found == cells.end() ? Estimate{} : bars.of(*found);
    };
    add_cell_bars(study, {bars.id, bars.x_name, {bars.title}, bars.caption, kHeading, "", of}, figures);
  }
}

/// Peak memory in its kinds, stacked in the order of kKinds; `rest` makes the sum the measured peak.
Bar memory_bar(const Study& study, const MethodCell& cell) {
  Bar bar;
  bar.label = drawn_label(study, *cell.cell);
  for (const MemoryKind& kind : kKinds)
    bar.segments.push_back({(*cell.memory).*kind.bytes / 1e9, kind.colour, ""});
  bar.note = human_bytes(cell.memory->peak);
  bar.hover = origin_of(study, *cell.cell);
  return bar;
}

Finding memory_title(const std::vector<const MethodCell*>& cells) {
  const auto by_peak = [](const MethodCell* a, const MethodCell* b) { return a->memory->peak < b->memory->peak; };
  const auto [least, most] = std::ranges::minmax_element(cells, by_peak);
  const double low = (*least)->memory->peak, high = (*most)->memory->peak;
  return {fmt::format("A rank needs from {} ({}) to {} ({})", human_bytes(low), (*least)->label, human_bytes(high),
                      (*most)->label),
          {{"least", low}, {"most", high}}};
}

void add_memory(const Study& study, const std::vector<MethodCell>& all, std::vector<Figure>& figures) {
  const std::vector<int> ranks = drawn_ranks(study);
  std::vector<const MethodCell*> cells;
  for (const MethodCell& cell : all)
    if (cell.memory && std::ranges::find(ranks, cell.cell->ranks) != ranks.end()) cells.push_back(&cell);
  int number = 0;
  for (const std::vector<const MethodCell*>& piece : pieces(cells, kMostBars)) {
    BarChart chart;
    for (const MethodCell* cell : piece)
      chart.bars.push_back(memory_bar(study, *cell));
    for (const MemoryKind& kind : kKinds)
      chart.legend.emplace_back(kind.colour, kind.name);
    const Finding title = memory_title(piece);
    chart.subtitle = fmt::format("Peak {} memory of the rank that needs most",
                                 piece.front()->memory->on_device ? "of tensors in GPU" : "resident in host");
    chart.x_name = "GB";
    figures.push_back(figure_of(
        numbered("methods-memory", number++), Section::study, title, chart,
        "The peak is measured, the other kinds are the bytes of the tensors; the rest is the difference.", kHeading));
  }
}

/// "1, 2 and 4"
std::string ranks_text(const Study& study) {
  std::vector<std::string> fewer;
  for (const int ranks : study.rank_counts)
    fewer.push_back(std::to_string(ranks));
  const std::string most = fewer.back();
  fewer.pop_back();
  return fmt::format("{} and {}", join(fewer, ", "), most);
}

/// Rate against peak memory, a point for each method, on most ranks.
void add_limits(const Study& study, const std::vector<MethodCell>& all, Objective objective,
                std::vector<Figure>& figures) {
  LineChart chart;
  for (const MethodCell& cell : all) {
    if (cell.objective != objective || cell.cell->ranks != study.rank_counts.back() || !cell.memory ||
        !cell.cell->counts())
      continue;
    // One point for each method: the intervals are those of rates; peaks have none.
    const double peak = cell.memory->peak / 1e9;
    chart.series.push_back(
        {cell.label,
         style_of(study, cell.cell->configuration),
         {{peak, cell.cell->rate.value, error_bar(cell.cell->rate),
           fmt::format("{}: {} {}, {}; {}", cell.label, with_interval(cell.cell->rate), study.rate_unit(),
                       human_bytes(cell.memory->peak), origin_of(study, *cell.cell))}},
         {},
         {}});
  }
  if (chart.series.size() < 2) return;
  const std::string others =
      study.rank_counts.size() == 1
          ? std::string()
          : fmt::format(" Only the runs on {}, the most of {}, are shown; the table has the others.",
                        counted(study.rank_counts.back(), "rank"), ranks_text(study));
  const Finding title{fmt::format("Rate against memory: {}", text_of(objective))};
  chart.subtitle = fmt::format("{}. A method fits if each rank has at least this much memory",
                               counted(study.rank_counts.back(), "rank"));
  chart.x_name = "GB of a rank, peak";
  chart.y_name = study.rate_unit();
  chart.horizontal = Horizontal::quantity;
  figures.push_back(figure_of(objective == Objective::preference ? "methods-limits-preference" : "methods-limits",
                              Section::study, title, chart, "Left and above is better." + others, kHeading));
}

}  // namespace

void add_method_figures(const Study& study, std::vector<Figure>& figures) {
  if (!compares_methods(study)) return;
  const std::vector<MethodCell> cells = method_cells(study);
  add_bars(study, cells, speed_bars(study.rate_unit()), figures);
  add_memory(study, cells, figures);
  for (const Objective objective : {Objective::next_token, Objective::preference})
    add_limits(study, cells, objective, figures);
  add_bars(study, cells, traffic_and_score_bars(), figures);
}

}  // namespace multicard::post
