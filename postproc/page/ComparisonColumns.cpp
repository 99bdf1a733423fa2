#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/page/ComparisonReport.hpp"
#include "postproc/page/JsonValues.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

std::string signed_text(double value, double reference) {
  return (value < 0 ? "−" : "+") + alike(std::abs(value), std::abs(reference), 3);
}

/// "+2.20 (+1.90 to +2.50)", the difference times `factor`: with as many decimals as three digits of it need.
HtmlCell difference_cell(const Estimate& difference, double factor) {
  const double by = factor * difference.value;
  if (!std::isfinite(by)) return {"–", by};
  std::string text = signed_text(by, by);
  if (difference.interval)
    text += fmt::format(" ({} to {})", signed_text(factor * difference.interval->low, by),
                        signed_text(factor * difference.interval->high, by));
  return {text, by};
}

Value milliseconds(double seconds) {
  return std::isfinite(seconds) ? HtmlCell(significant(1000 * seconds), 1000 * seconds) : HtmlCell("–");
}

std::string label_of(const ComparedPhase& phase) {
  const auto p = std::ranges::find(kPhaseNames, phase.name) - kPhaseNames.begin();
  return phase_name(static_cast<Phase>(p));
}

/// "eval_loss" is the test loss.
std::string label_of(const std::string& score) {
  std::string label = score.starts_with("eval_") ? "test " + score.substr(5) : score;
  std::ranges::replace(label, '_', ' ');
  return label;
}

/// "tokens/s", or those of A and B where they differ.
std::string units_of(const ComparedCell& cell) {
  const std::string &a = cell.study_a->unit, &b = cell.study_b->unit;
  return a == b ? a + "/s" : fmt::format("{}/s, {}/s", a, b);
}

HtmlCell text_or_dash(const std::string& text) {
  return text.empty() ? HtmlCell("–") : HtmlCell(text);
}

}  // namespace

std::vector<ComparedCell> measured_cells(const Comparison& comparison) {
  std::vector<ComparedCell> measured;
  std::ranges::copy_if(comparison.cells, std::back_inserter(measured), &ComparedCell::is_measured);
  return measured;
}

std::string unit_of(const Comparison& comparison) {
  std::set<std::string> units;
  for (const ComparedCell& cell : comparison.cells)
    if (cell.is_measured()) units.insert({cell.study_a->unit, cell.study_b->unit});
  return units.size() == 1 ? *units.begin() : std::string();
}

Columns<ComparedCell> compared_cell_columns(const std::string& unit) {
  using Row = ComparedCell;
  const auto rate_a = [](const Row& cell) { return cell.cell_a->rate; };
  const auto rate_b = [](const Row& cell) { return cell.cell_b->rate; };
  const auto step_a = [](const Row& cell) { return cell.cell_a->step_time; };
  const auto step_b = [](const Row& cell) { return cell.cell_b->step_time; };
  const std::string of_a = unit.empty() ? "A, rate" : "A, " + unit + "/s";
  const std::string of_b = unit.empty() ? "B, rate" : "B, " + unit + "/s";
  Columns<Row> columns{{"configuration", kJson | kPage | kTerminal, &Row::label, "configuration"},
                       {"ranks_a", kJson, [](const Row& cell) { return cell.cell_a->ranks; }},
                       {"ranks_b", kJson, [](const Row& cell) { return cell.cell_b->ranks; }},
                       {"status_a", kJson, [](const Row& cell) { return text_of(cell.cell_a->status); }},
                       {"status_b", kJson, [](const Row& cell) { return text_of(cell.cell_b->status); }},
                       {"unit_a", kJson, [](const Row& cell) { return cell.study_a->unit; }},
                       {"unit_b", kJson, [](const Row& cell) { return cell.study_b->unit; }},
                       {"rate_a_per_s", kJson | kPage | kTerminal, rate_a, of_a, Format::value},
                       {"rate_b_per_s", kJson | kPage | kTerminal, rate_b, of_b, Format::value},
                       {"rate_ratio", kJson | kPage | kTerminal, &Row::rate_ratio, "B/A (95 %)", Format::three_digits},
                       {"step_a_s", kJson | kPage | kTerminal, step_a, "A, ms a step", Format::milliseconds},
                       {"step_b_s", kJson | kPage | kTerminal, step_b, "B, ms a step", Format::milliseconds},
                       {"step_ratio", kJson | kPage, &Row::step_ratio, "step of B/A", Format::three_digits},
                       {"measurable", kJson, &Row::is_measurable},
                       {"same_run", kJson, [](const Row& cell) { return cell.is_same_run; }}};
  if (unit.empty()) columns.push_back({"", kPage | kTerminal, units_of, "rates count"});
  return columns;
}

Columns<ComparedPhase> compared_phase_columns() {
  using Row = ComparedPhase;
  return {
      {"phase", kJson, [](const Row& row) { return row.name; }},
      {"", kPage | kTerminal, [](const Row& row) { return label_of(row); }, "phase of a step"},
      {"a_s", kJson, [](const Row& row) { return row.a; }},
      {"b_s", kJson, [](const Row& row) { return row.b; }},
      {"", kPage | kTerminal, [](const Row& row) { return milliseconds(row.a.value); }, "A, ms"},
      {"", kPage | kTerminal, [](const Row& row) { return milliseconds(row.b.value); }, "B, ms"},
      {"difference_s", kJson, [](const Row& row) { return row.difference; }},
      {"", kPage | kTerminal, [](const Row& row) { return difference_cell(row.difference, 1000); }, "B − A, ms (95 %)"},
      {"share", kJson | kPage | kTerminal, &Row::share, "of the difference", Format::percent},
      {"measurable", kJson, &Row::is_measurable}};
}

Columns<ComparedNumber> compared_score_columns() {
  using Row = ComparedNumber;
  return {{"name", kJson, &Row::name},
          {"", kPage | kTerminal, [](const Row& row) { return label_of(row.name); }, "score"},
          {"a", kJson | kPage | kTerminal, &Row::a, "A"},
          {"b", kJson | kPage | kTerminal, &Row::b, "B"},
          {"difference", kJson, &Row::difference},
          {"", kPage | kTerminal, [](const Row& row) { return difference_cell(row.difference, 1); }, "B − A (95 %)"}};
}

Columns<ComparedNumber> compared_memory_columns() {
  using Row = ComparedNumber;
  const auto times = [](const Row& row) { return row.b.value / row.a.value; };
  return {{"name", kJson, &Row::name},
          {"", kPage | kTerminal, [](const Row& row) { return label_of(row.name.substr(0, row.name.rfind('_'))); },
           "memory, rank with the most"},
          {"a_bytes", kJson | kPage | kTerminal, [](const Row& row) { return row.a.value; }, "A", Format::bytes_if_any},
          {"b_bytes", kJson | kPage | kTerminal, [](const Row& row) { return row.b.value; }, "B", Format::bytes_if_any},
          {"ratio", kJson | kPage | kTerminal, times, "B/A", Format::factor}};
}

Columns<ComparedItem> compared_item_columns() {
  using Row = ComparedItem;
  return {{"name", kJson | kPage | kTerminal, &Row::name, "name"},
          {"a_s", kJson, &Row::seconds_a},
          {"b_s", kJson, &Row::seconds_b},
          {"", kPage | kTerminal, [](const Row& row) { return milliseconds(row.seconds_a); }, "A, ms"},
          {"", kPage | kTerminal, [](const Row& row) { return milliseconds(row.seconds_b); }, "B, ms"},
          {"difference_s", kJson, &Row::difference},
          {"", kPage | kTerminal,
           [](const Row& row) {
             return difference_cell({row.difference(), std::nullopt, Basis::none, 1}, 1000);
           },
           "B − A, ms"},
          {"a_count", kJson | kPage | kTerminal, &Row::count_a, "A, count", Format::three_digits},
          {"b_count", kJson | kPage | kTerminal, &Row::count_b, "B, count", Format::three_digits}};
}

Columns<ComparedSetting> compared_setting_columns() {
  using Row = ComparedSetting;
  Columns<Row> columns = compared_environment_columns();
  append(columns, {{"effect", kJson | kPage | kTerminal, &Row::effect, "effect"},
                   {"configurations", kJson, [](const Row& row) { return row.num_cells; }}});
  return columns;
}

Columns<ComparedSetting> compared_environment_columns() {
  using Row = ComparedSetting;
  return {{"key", kJson | kPage | kTerminal, &Row::key, "differs"},
          {"a", kJson, &Row::a},
          {"b", kJson, &Row::b},
          {"", kPage | kTerminal, [](const Row& row) { return text_or_dash(row.a); }, "A"},
          {"", kPage | kTerminal, [](const Row& row) { return text_or_dash(row.b); }, "B"}};
}

}  // namespace multicard::post
