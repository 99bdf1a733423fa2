#include <algorithm>
#include <cmath>

#include "postproc/page/PageTables.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

/// Ranks whose value is known count.
struct OverRanks {
  double sum = 0, most = kNone;
  int count = 0;

  double mean() const { return count > 0 ? sum / count : kNone; }
};

OverRanks over_ranks(const RunReport& run, double RankResources::*member) {
  OverRanks over;
  for (const RankResources& rank : run.resources) {
    const double value = rank.*member;
    if (!std::isfinite(value)) continue;
    over.sum += value;
    over.most = over.most >= value ? over.most : value;
    ++over.count;
  }
  return over;
}

/// What is known of any cell has a column.
void add_if_known(Columns<Cell>& columns, const std::vector<const Cell*>& cells, const Study& study,
                  const std::string& label, double RankResources::*member, double (*value)(const OverRanks&),
                  Format format = Format::three_digits) {
  const auto of = [&study, member, value](const Cell& cell) {
    return value(over_ranks(representative(study, cell), member));
  };
  if (std::ranges::any_of(cells, [&](const Cell* cell) { return std::isfinite(of(*cell)); }))
    columns.push_back({label, of, format});
}

double mean_of(const OverRanks& over) {
  return over.mean();
}
double most_of(const OverRanks& over) {
  return over.most;
}
/// Of all ranks; unknown where none has it.
double sum_of(const OverRanks& over) {
  return over.count > 0 ? over.sum : kNone;
}

}  // namespace

std::string resources_html(const Study& study) {
  std::vector<const Cell*> cells;
  for (const Cell& cell : study.cells)
    if (!cell.measured.empty() && !representative(study, cell).resources.empty()) cells.push_back(&cell);
  if (cells.empty()) return {};
  Columns<Cell> columns = place_columns(study);
  const auto add = [&](const std::string& label, double RankResources::*member, double (*value)(const OverRanks&),
                       Format format = Format::three_digits) {
    add_if_known(columns, cells, study, label, member, value, format);
  };
  using R = RankResources;
  add("CPU cores", &R::cpu_cores, mean_of);
  add("preemptions a second", &R::involuntary_switches, mean_of);
  add("waits for a core", &R::core_wait, mean_of, Format::percent);
  add("major faults a second", &R::major_faults, mean_of);
  add("resident", &R::resident_bytes, most_of, Format::bytes);
  add("read a second", &R::storage_read_bytes, mean_of, Format::bytes);
  add("written a second", &R::storage_written_bytes, mean_of, Format::bytes);
  add("GPU busy", &R::gpu_busy, mean_of, Format::percent);
  add("power, W", &R::gpu_power_w, mean_of);
  add("energy, kJ", &R::gpu_energy_j, [](const OverRanks& over) { return sum_of(over) / 1e3; });
  add("SM clock, MHz", &R::gpu_sm_clock_mhz, mean_of);
  add("hottest, °C", &R::gpu_temperature_c, most_of);
  add("clocks lowered", &R::gpu_throttled, mean_of, Format::percent);
  HtmlTable out{"resources",
                "What ranks used while they trained, sampled once a second; median run of each cell, mean over ranks. "
                "Resident memory and temperature: of the rank with most; energy: of all GPUs together.",
                labels_in(kPage, columns),
                {}};
  for (const Cell* cell : cells)
    out.rows.push_back(cells_in(kPage, columns, *cell));
  return table(out);
}

}  // namespace multicard::post
