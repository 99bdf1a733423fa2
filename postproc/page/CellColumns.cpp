#include <fmt/format.h>

#include "postproc/page/StudyColumns.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

using Json = Value::Json;

/// The first error of a cell's runs.
std::string error_of(const Study& study, const Cell& cell) {
  for (const std::size_t run : cell.runs)
    if (!study.runs[run].error.empty()) return study.runs[run].error;
  return {};
}

/// Repeats that count as complete: of a cell where all runs stopped, none.
int num_complete(const Cell& cell) {
  return cell.status == CellStatus::complete ? cell.num_repeats() : 0;
}

/// Axes of another study are settings that all runs of this one share.
std::function<std::string(const Cell&)> axis_value(const Study& study, const std::string& key) {
  return [&study, key](const Cell& cell) {
    const auto& settings = study.configuration(cell).settings;
    const auto found = settings.find(key);
    return found == settings.end() ? known_setting(study.runs[cell.runs[0]], key) : found->second;
  };
}

Json names_of_runs(const Study& study, const Cell& cell) {
  Json out = Json::array();
  for (const std::size_t run : cell.runs)
    out.push_back(study.runs[run].name);
  return out;
}

Json stragglers_json(const Cell& cell) {
  Json out = Json::object();
  for (const auto& [rank, repeats] : cell.stragglers)
    out[std::to_string(rank)] = repeats;
  return out;
}

/// Which cell it is, and of how many runs.
Columns<Cell> identity_columns(const Study& study, std::size_t number, const std::vector<std::string>& axes) {
  Columns<Cell> columns{
      {"study", kCsv, [number](const Cell&) { return number; }},
      {"configuration", kCsv | kPage | kTerminal,
       [&study](const Cell& cell) { return study.configuration(cell).full_label(); }, "configuration"}};
  for (const std::string& key : axes)
    columns.push_back({key, kCsv, axis_value(study, key)});
  for (const std::string& key : axes)
    columns.push_back(
        {"axis." + key, kCsv, [value = axis_value(study, key)](const Cell& cell) { return axis_text(value(cell)); }});
  append(columns,
         {{"ranks", kCsv | kJson, &Cell::ranks},
          {"", kPage | kTerminal, [](const Cell& cell) { return HtmlCell(ranks_range(cell), cell.ranks); }, "ranks"},
          {"fewest_ranks", kJson, &Cell::fewest_ranks},
          {"status", kCsv | kJson, [](const Cell& cell) { return text_of(cell.status); }},
          {"complete", kCsv, num_complete},
          {"repeats", kJson, &Cell::num_repeats},
          {"runs", kCsv, [](const Cell& cell) { return cell.runs.size(); }},
          {"runs", kJson, [&study](const Cell& cell) { return names_of_runs(study, cell); }},
          {"unit", kCsv, [&study](const Cell&) { return study.unit; }},
          {"interval_over", kCsv, [](const Cell& cell) { return text_of(cell.rate.basis); }}});
  return columns;
}

}  // namespace

/// In the order of the studies, so that a report of one study has its axes in theirs.
std::vector<std::string> axis_keys(const Collection& collection) {
  std::vector<std::string> keys;
  for (const Study& study : collection.studies)
    for (const Axis& axis : study.axes)
      add_once(keys, axis.key);
  return keys;
}

Columns<Cell> cell_columns(const Study& study, std::size_t number, const std::vector<std::string>& axes) {
  // Speedups of one number of ranks would be a column of dashes; the terminal's table has the same columns everywhere.
  const Outputs page_of_several = study.has_scaling() ? kPage : 0;
  const std::optional<LearningScore> score = learning_score(study);
  Columns<Cell> columns = identity_columns(study, number, axes);
  append(columns,
         {{"rate_per_s", kCsv | kJson | kPage, &Cell::rate, study.rate_unit()},
          {"", kTerminal, &Cell::rate, study.rate_unit() + " (95 %)"},
          {"s_per_thousand", kCsv | kJson | kPage, &Cell::time_per_thousand, "s for 1,000", Format::value},
          {"step_s", kCsv | kJson, &Cell::step_time},
          {"speedup", kCsv | kJson | kTerminal | page_of_several, &Cell::speedup, "speedup", Format::three_digits},
          {"efficiency", kCsv | kJson | kTerminal | page_of_several, &Cell::efficiency, "efficiency",
           Format::three_digits}});
  if (score)
    columns.push_back(
        {compares_methods(study) ? std::string(score->name) + " of its objective" : score->name, score->member});
  for (std::size_t p = 0; p < kNumPhases; ++p)
    columns.push_back({fmt::format("{}_share", kPhaseNames[p]), kCsv,
                       [p](const Cell& cell) { return cell.share(static_cast<Phase>(p)); }});
  append(columns,
         {{"mean_step_s", kJson, &Cell::mean_step},
          {"mean_phase_s", kJson, [](const Cell& cell) { return cell.measured.empty() ? Json() : phases_json(cell); }},
          {"exposed_share", kJson | kPage | kTerminal, &Cell::exposed_share, "exposed", Format::percent},
          {"data_wait_share", kJson | kPage | kTerminal, &Cell::data_wait_share, "data wait", Format::percent},
          {"rank_spread", kCsv | kJson, &Cell::rank_spread},
          {"step, ms", &Cell::step_time, Format::milliseconds},
          {"complete",
           [](const Cell& cell) {
             return HtmlCell(fmt::format("{} of {}", num_complete(cell), cell.runs.size()), num_complete(cell));
           }},
          {"", kTerminal, [](const Cell& cell) { return fmt::format("{}/{}", num_complete(cell), cell.runs.size()); },
           "repeats"},
          {"stragglers", kJson, stragglers_json},
          {"test_loss", kCsv | kJson, &Cell::test_loss},
          {"test_accuracy", kCsv | kJson, &Cell::test_accuracy},
          {"error", kCsv, [&study](const Cell& cell) { return error_of(study, cell); }},
          {"memory_bytes", kJson, [](const Cell& cell) { return Json(cell.memory); }}});
  if (score) columns.push_back({"", kTerminal, score->member, score->name});
  return columns;
}

Columns<OptionEffect> option_columns(std::size_t number) {
  using Effect = OptionEffect;
  return {
      {"study", kCsv, [number](const Effect&) { return number; }},
      {"option", kCsv | kJson, &Effect::key},
      {"value", kCsv | kJson, &Effect::value},
      {"baseline", kCsv | kJson, &Effect::baseline},
      {"option", &Effect::value_label},
      {"instead of", &Effect::baseline_label},
      {"ratio", kCsv | kJson | kPage, &Effect::ratio, "times the rate", Format::three_digits},
      {"interval_over", kCsv, [](const Effect& effect) { return text_of(effect.ratio.basis); }},
      {"pairs_of_runs", kCsv | kPage, [](const Effect& effect) { return effect.ratio.num_values; }, "pairs of runs"},
      {"pairs_of_cells", kCsv | kJson | kPage, &Effect::num_cells, "cells"},
      {"not_completed", kCsv | kJson | kPage, &Effect::num_unfinished, "not completed"},
      {"least", kCsv | kJson | kPage, &Effect::least, "least", Format::factor},
      {"least_at", kCsv | kJson | kPage, &Effect::least_at, "where"},
      {"most", kCsv | kJson | kPage, &Effect::most, "most", Format::factor},
      {"most_at", kCsv | kJson | kPage, &Effect::most_at, "where"}};
}

}  // namespace multicard::post
