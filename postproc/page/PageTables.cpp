#include "postproc/page/PageTables.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "postproc/page/StudyColumns.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

using Cells = std::vector<std::reference_wrapper<const Cell>>;

template <class Has>
Cells cells_that(const Study& study, const Has& has) {
  Cells cells;
  std::ranges::copy_if(study.cells, std::back_inserter(cells), has);
  return cells;
}

/// Failed cells have no phases, collectives or copies.
Cells measured_cells(const Study& study) {
  return cells_that(study, [](const Cell& cell) { return !cell.measured.empty(); });
}

/// Names of the counters that any cell has and that are not 0 throughout, as those of devices are on CPUs; in order.
std::set<std::string> memory_names(const Study& study) {
  std::set<std::string> names;
  for (const Cell& cell : study.cells)
    for (const auto& [name, bytes] : cell.memory)
      if (bytes != 0) names.insert(name);
  return names;
}

std::string memory_label(std::string name) {
  // "device peak" of device_peak_bytes, "model gradients" of model/gradients.
  const std::size_t suffix = name.rfind("_bytes");
  if (suffix != std::string::npos) name.erase(suffix);
  for (char& c : name)
    if (c == '_' || c == '/') c = ' ';
  return name;
}

}  // namespace

Columns<Cell> place_columns(const Study& study) {
  return {{"configuration", [&study](const Cell& cell) { return study.configuration(cell).full_label(); }},
          {"ranks", &Cell::ranks}};
}

HtmlTable cells_table(const Study& study) {
  const std::string note = interval_note(study);
  HtmlTable out = html_table("cells", "Configurations and numbers of ranks" + (note.empty() ? "." : "; " + note + "."),
                             cell_columns(study), study.cells);
  fold_constant_columns(out, {"complete"});
  return out;
}

HtmlTable phases_table(const Study& study) {
  Columns<Cell> columns = place_columns(study);
  columns.push_back({"mean step", &Cell::mean_step, Format::milliseconds});
  for (std::size_t p = 0; p < kNumPhases; ++p)
    columns.push_back(
        {spaced(kPhaseNames[p]), [p](const Cell& cell) { return 1000 * cell.phases[p]; }, Format::three_digits});
  return html_table("phases", "Milliseconds of a step: means over ranks and measured steps.", columns,
                    measured_cells(study));
}

std::string communication_html(const Study& study) {
  struct Kind {
    const Cell* cell;
    std::string name;
    CommunicationReport totals;
    double overlapped() const {
      return totals.seconds_total > 0 ? std::max(0.0, 1 - totals.seconds_exposed / totals.seconds_total) : kNone;
    }
  };
  const auto total = [](auto CommunicationReport::*member) {
    return [member](const Kind& kind) { return kind.totals.*member; };
  };
  using Report = CommunicationReport;
  const Columns<Kind> columns{
      {"configuration", [&](const Kind& kind) { return study.configuration(*kind.cell).full_label(); }},
      {"ranks", [](const Kind& kind) { return kind.cell->ranks; }},
      {"kind", &Kind::name},
      {"calls", total(&Report::calls)},
      {"payload", total(&Report::payload_bytes), Format::bytes},
      {"on the bus", total(&Report::bus_bytes), Format::bytes},
      {"total, s", total(&Report::seconds_total), Format::three_digits},
      {"exposed, s", total(&Report::seconds_exposed), Format::three_digits},
      {"waiting for ranks, s", total(&Report::seconds_skew), Format::three_digits},
      {"overlapped", &Kind::overlapped, Format::percent}};
  std::vector<Kind> kinds;
  for (const Cell& cell : measured_cells(study))
    for (const auto& [kind, totals] : representative(study, cell).communication)
      kinds.push_back({&cell, kind, totals});
  if (kinds.empty()) return {};
  return table(html_table(
      "communication",
      "Collectives, median run of each cell; seconds averaged over ranks. Exposed is the time in "
      "wait(), with what slower ranks are waited for; waiting for ranks is the part of the total until the last rank "
      "has entered the operation, which events of NCCL and MPI between nodes do not show; overlapped is 1 − exposed / "
      "total, and 0 where more is waited "
      "than the operations themselves take.",
      columns, kinds));
}

std::string transfers_html(const Study& study) {
  if (std::ranges::all_of(study.runs, &RunReport::on_cpu)) return {};  // nothing is copied to a device
  // Runs record only directions that occur; a column for each that any cell has.
  std::set<std::string> directions;
  for (const Cell& cell : measured_cells(study))
    for (const auto& [direction, bytes] : representative(study, cell).transfers)
      directions.insert(direction);
  if (directions.empty()) return {};
  Columns<Cell> columns = place_columns(study);
  for (const std::string& direction : directions)
    columns.push_back(
        {spaced(direction),
         [&, direction](const Cell& cell) { return number_in(representative(study, cell).transfers, direction); },
         Format::bytes});
  return table(html_table("transfers",
                          "Copies to and within devices: bytes per step and rank, median run of each cell.", columns,
                          measured_cells(study)));
}

std::string options_html(const Study& study) {
  if (study.effects.empty()) return {};
  return table(html_table("options",
                          "Rate with the option over the rate without it, everything else equal: geometric mean over "
                          "pairs of cells with its 95 % interval, and the cells where it is least and most.",
                          option_columns(), study.effects));
}

std::string memory_html(const Study& study) {
  const std::set<std::string> names = memory_names(study);
  if (names.empty()) return {};
  Columns<Cell> columns = place_columns(study);
  for (const std::string& name : names)
    columns.push_back(
        {memory_label(name), [name](const Cell& cell) { return number_in(cell.memory, name); }, Format::bytes});
  return table(html_table("memory", "Bytes of the rank that needs most, over repeats.", columns,
                          cells_that(study, [](const Cell& cell) { return !cell.memory.empty(); })));
}

HtmlTable runs_table(const Study& study) {
  HtmlTable out = html_table("runs", "Every run.", run_columns(study), study.runs);
  fold_constant_columns(out, {"repeat", "error"});
  return out;
}

HtmlTable ranks_table(const Study& study, const std::vector<const Cell*>& cells) {
  Columns<Cell> columns = place_columns(study);
  append(columns, {{"slowest over fastest", &Cell::rank_spread, Format::factor},
                   {"stragglers", [&study](const Cell& cell) { return stragglers_text(study, cell); }}});
  HtmlTable out = html_table("ranks", "Own work of ranks, each configuration on most ranks.", columns, Cells{});
  for (const Cell* cell : cells)
    out.rows.push_back(cells_in(kPage, columns, *cell));
  return out;
}

}  // namespace multicard::post
