#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/BuildInfo.hpp"
#include "base/JsonText.hpp"
#include "base/ShellWord.hpp"
#include "base/Text.hpp"
#include "postproc/figures/ComparedFigures.hpp"
#include "postproc/page/ComparisonReport.hpp"
#include "postproc/page/JsonValues.hpp"
#include "postproc/page/PageFiles.hpp"
#include "postproc/page/PageFrame.hpp"
#include "postproc/page/PageParts.hpp"

namespace multicard::post {

namespace {

using Json = nlohmann::ordered_json;
using post::json_of;  // which those below would hide

/// Of the items of one kind on the page; the JSON has all.
constexpr std::size_t kMostItems = 15;

Json json_of(const ComparedCell& cell) {
  Json out = json_row(compared_cell_columns(), cell);
  if (!cell.is_measured()) return out;
  out["mean_step"] = json_row(compared_score_columns(), cell.mean_step);
  out["phases"] = json_rows(compared_phase_columns(), cell.phases);
  out["scores"] = json_rows(compared_score_columns(), cell.scores);
  out["memory"] = json_rows(compared_memory_columns(), cell.memory);
  out["items"] = Json::object();
  for (const ComparedItems& items : cell.items)
    out["items"][items.id] = json_rows(compared_item_columns(), items.items);
  return out;
}

Json json_of(const Collection& collection) {
  Json out = Json::array();
  for (const Source& source : collection.sources)
    out.push_back({{"path", source.path}, {"attributes", source.attributes}, {"provenance", source.provenance}});
  return out;
}

Json json_of(const ComparedResults& results) {
  const Comparison& comparison = results.comparison;
  Json out{{"format", "multicard-comparison"}, {"schema_version", 1}};
  out["notices"] = results.a.notices;
  for (const std::string& notice : results.b.notices)
    out["notices"].push_back(notice);
  out["headline"] = json_of(comparison.findings.front());
  out["findings"] = json_of(Findings(comparison.findings.begin() + 1, comparison.findings.end()));
  out["a"] = json_of(results.a);
  out["b"] = json_of(results.b);
  out["configurations"] = Json::array();
  for (const ComparedCell& cell : comparison.cells)
    out["configurations"].push_back(json_of(cell));
  out["only_a"] = comparison.only_a;
  out["only_b"] = comparison.only_b;
  out["evaluations"] = Json::array();
  for (const ComparedEvaluation& evaluation : comparison.evaluations)
    out["evaluations"].push_back(
        {{"name", evaluation.name}, {"scores", json_rows(compared_score_columns(), evaluation.scores)}});
  out["settings"] = json_rows(compared_setting_columns(), comparison.settings);
  out["environment"] = json_rows(compared_environment_columns(), comparison.environment);
  return out;
}

std::string answer_html(const Comparison& comparison, const std::vector<Figure>& figures) {
  std::vector<std::string> sentences;
  for (std::size_t i = 1; i < comparison.findings.size(); ++i)
    sentences.push_back(comparison.findings[i].sentence());
  return answer_figure_html(figures) + (sentences.empty() ? std::string() : list(sentences));
}

std::string items_html(const ComparedItems& items) {
  const std::vector<ComparedItem> first(
      items.items.begin(), items.items.begin() + static_cast<long>(std::min(kMostItems, items.items.size())));
  return table(html_table("compared-" + items.id, items.heading + ": those that changed most, of a step and rank.",
                          compared_item_columns(), first));
}

std::string details_html(const ComparedCell& cell) {
  std::string out = table(html_table(
      "compared-phases", "Mean over ranks and measured steps; the shares add up to the difference of the mean step.",
      compared_phase_columns(), cell.phases));
  for (const ComparedItems& items : cell.items)
    out += items_html(items);
  if (!cell.scores.empty())
    out += table(
        html_table("compared-scores", "Losses and accuracies at the end.", compared_score_columns(), cell.scores));
  if (!cell.memory.empty())
    out += table(html_table("compared-memory", "Peak memory.", compared_memory_columns(), cell.memory));
  return out;
}

/// The phases of the configuration that changed most are open, the others folded.
std::string all_details_html(const Comparison& comparison) {
  const ComparedCell* most = most_changed(comparison);
  std::string out = most ? subheading(most->label) + details_html(*most) : std::string();
  for (const ComparedCell& cell : comparison.cells)
    if (&cell != most && cell.is_measured()) out += folded(cell.label, details_html(cell));
  return out;
}

std::string cells_html(const Comparison& comparison) {
  std::string out = table(html_table("compared-cells", "Rates and median steps, ratios with 95 % intervals.",
                                     compared_cell_columns(unit_of(comparison)), measured_cells(comparison)));
  for (const auto& [name, labels] : {std::pair("A", &comparison.only_a), std::pair("B", &comparison.only_b)})
    if (!labels->empty()) out += folded(fmt::format("Only in {}", name), list(*labels));
  return out;
}

/// Of both sides, and of the page itself.
std::string all_commands_html(const ComparedResults& results) {
  std::vector<std::string> files;
  for (const Collection* side : {&results.a, &results.b}) {
    if (side == &results.b) files.emplace_back("--compare");
    for (const Source& source : side->sources)
      files.push_back(shell_word(source.path));
  }
  std::string out;
  for (const auto& [name, side] : {std::pair("A", &results.a), std::pair("B", &results.b)})
    if (const std::string commands = commands_html(*side); !commands.empty()) out += subheading(name) + commands;
  return out + subheading("This page") + preformatted(fmt::format("multicard-post {} -o report", join(files, " ")));
}

std::vector<PagePart> parts_of(const ComparedResults& results, const std::vector<Figure>& figures) {
  const Comparison& comparison = results.comparison;
  std::vector<PagePart> parts{{"answer", "The answer", answer_html(comparison, figures)}};
  if (most_changed(comparison)) {
    parts.push_back({"configurations", "Configurations", cells_html(comparison)});
    parts.push_back(
        {"step", "Where the time of a step changed", other_figures_html(figures) + all_details_html(comparison)});
  }
  std::string scores;
  for (const ComparedEvaluation& evaluation : comparison.evaluations)
    scores += table(html_table("compared-evaluation", evaluation.name, compared_score_columns(), evaluation.scores));
  if (!scores.empty()) parts.push_back({"evaluation", "Evaluation", scores});
  if (!comparison.settings.empty())
    parts.push_back({"settings", "Settings that differ",
                     table(html_table("compared-settings", "Keys of decks and what runs resolved.",
                                      compared_setting_columns(), comparison.settings))});
  if (!comparison.environment.empty())
    parts.push_back({"environment", "Program and machine",
                     table(html_table("compared-environment", "What differs of program, versions, machine, variables.",
                                      compared_environment_columns(), comparison.environment))});
  parts.push_back({"commands", "Commands", all_commands_html(results)});
  std::erase_if(parts, [](const PagePart& part) { return part.html.empty(); });
  return parts;
}

std::string paths_of(const Collection& collection) {
  std::vector<std::string> paths;
  for (const Source& source : collection.sources)
    paths.push_back(source.path);
  return join(paths, ", ");
}

std::string page_of(const ComparedResults& results, const std::vector<Figure>& figures,
                    std::vector<std::string> warnings) {
  warnings.insert(warnings.end(), results.a.notices.begin(), results.a.notices.end());
  warnings.insert(warnings.end(), results.b.notices.begin(), results.b.notices.end());
  const PageHead head{results.comparison.findings.front().text, "What changed from A to B",
                      fmt::format("A: {}. B: {}. Report by multicard-post {}.", paths_of(results.a),
                                  paths_of(results.b), build_info().version)};
  return html_page(head, warnings, parts_of(results, figures));
}

}  // namespace

std::string comparison_json(const ComparedResults& results) {
  return json_text(json_of(results), 1) + "\n";
}

std::string write_comparison(const ComparedResults& results, const std::string& folder, const Gnuplot& gnuplot) {
  std::vector<std::string> warnings;
  std::vector<PageFile> pages;
  std::vector<Figure> figures = figures_of(results.comparison);
  draw_for_page(gnuplot, figures, Formats::svg, pages, warnings);
  pages.push_back({"comparison.json", comparison_json(results)});
  pages.push_back({"comparison.html", page_of(results, figures, warnings)});
  write_pages(folder, pages);
  return (std::filesystem::path(folder) / "comparison.html").string();
}

}  // namespace multicard::post
