#include <algorithm>

#include <fmt/format.h>

#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "postproc/page/ComparisonReport.hpp"
#include "postproc/page/TextTable.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

using Width = std::optional<std::size_t>;

/// Of the items of one kind; the page and the JSON have more.
constexpr std::size_t kMostItems = 5;
constexpr std::size_t kMostSettings = 16;
/// Of a setting's value: decks may hold long lists.
constexpr std::size_t kLongestValue = 60;

/// Empty without rows.
template <class Row>
std::string table_of(const Columns<Row>& columns, const std::vector<Row>& rows, Width width) {
  if (rows.empty()) return {};
  TextTable table{{labels_in(kTerminal, columns)}, {}, {}};
  for (const Row& row : rows)
    table.rows.push_back(texts_in(kTerminal, columns, row));
  return "\n" + aligned(table, width);
}

/// "A  results/before/results.h5, 2026-11-27T19:20:25Z, 93200c408998": a line for each file.
std::string files_of(const char* name, const Collection& collection) {
  std::string out;
  for (const Source& source : collection.sources) {
    std::vector<std::string> parts{source.path};
    for (const char* key : {"created_utc", "git"})
      if (const auto found = source.attributes.find(key); found != source.attributes.end() && !found->second.empty())
        parts.push_back(found->second);
    out += fmt::format("{}  {}\n", name, join(parts, ", "));
  }
  return out;
}

std::string shortened(std::string value) {
  if (value.size() <= kLongestValue) return value;
  std::size_t end = kLongestValue;
  // Not within a character of several bytes.
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0) == 0x80)
    --end;
  return value.substr(0, end) + "…";
}

/// The first ones, which change a step or what is learnt rather than lengths and folders.
std::string settings_of(const Columns<ComparedSetting>& columns, std::vector<ComparedSetting> all, Width width) {
  const std::size_t left_out = all.size() - std::min(all.size(), kMostSettings);
  all.resize(all.size() - left_out);
  for (ComparedSetting& setting : all)
    setting.a = shortened(setting.a), setting.b = shortened(setting.b);
  const std::string table = table_of(columns, all, width);
  return left_out == 0 ? table : table + fmt::format("and {} more: see --json, or the page of -o\n", left_out);
}

std::string details_of(const ComparedCell& cell, Width width) {
  std::string out = table_of(compared_phase_columns(), cell.phases, width);
  for (const ComparedItems& items : cell.items) {
    std::vector<ComparedItem> first(items.items.begin(),
                                    items.items.begin() + static_cast<long>(std::min(kMostItems, items.items.size())));
    out += "\n" + items.heading + ", of a step and rank" + table_of(compared_item_columns(), first, width);
  }
  return out + table_of(compared_score_columns(), cell.scores, width) +
         table_of(compared_memory_columns(), cell.memory, width);
}

}  // namespace

std::string comparison_text(const ComparedResults& results, Width columns) {
  const Comparison& comparison = results.comparison;
  const auto fitted = [&](const std::string& line) { return columns ? wrapped(line, *columns, 2) : line; };
  std::string out;
  for (const Finding& finding : comparison.findings)
    out += fitted(finding.sentence()) + "\n";
  out += files_of("A", results.a) + files_of("B", results.b);
  const std::vector<ComparedCell> measured = measured_cells(comparison);
  out += table_of(compared_cell_columns(unit_of(comparison)), measured, columns);
  if (const ComparedCell* most = most_changed(comparison)) {
    if (measured.size() > 1)
      out += "\n" + fitted("Of " + most->label + (most->is_measurable() ? ", which changed most:" : ":")) + "\n";
    out += details_of(*most, columns);
  }
  for (const ComparedEvaluation& evaluation : comparison.evaluations)
    out += "\n" + evaluation.name + table_of(compared_score_columns(), evaluation.scores, columns);
  return out + settings_of(compared_setting_columns(), comparison.settings, columns) +
         settings_of(compared_environment_columns(), comparison.environment, columns);
}

}  // namespace multicard::post
