#include "postproc/page/PageClaim.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/BuildInfo.hpp"
#include "base/JsonText.hpp"
#include "base/Text.hpp"
#include "postproc/figures/ClaimFigures.hpp"
#include "postproc/page/ClaimColumns.hpp"
#include "postproc/page/CsvText.hpp"
#include "postproc/page/JsonValues.hpp"
#include "postproc/page/PageFiles.hpp"
#include "postproc/page/PageFrame.hpp"
#include "postproc/page/PageParts.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/ClaimAnswer.hpp"

namespace multicard::post {

namespace {

/// Calls `visit(id, caption, columns, rows)` for every table, in the order of the page.
template <class Visit>
void for_each_table(const ClaimFile& file, Visit&& visit) {
  const std::vector<CommunicationCost> costs = communication_costs(file);
  std::vector<CommunicationCost> changed;
  std::ranges::copy_if(costs, std::back_inserter(changed),
                       [](const CommunicationCost& one) { return one.exposed_ratio.known(); });
  visit("iteration-changes", "Changes of the time until both tasks are done, and of their steps.",
        iteration_change_columns(), iteration_changes(file));
  visit("iteration-times", "Medians over repeats.", iteration_time_columns(), iteration_times(file));
  visit("simulated", "Simulated: every pair and number of GPUs.", simulated_change_columns(), simulated_changes(file));
  visit("memory-uses", "Allocated bytes averaged over time, over the capacity, and the rate.", memory_use_columns(),
        memory_uses(file));
  visit("communication-changes", "Changes over the first exchange of the place and task.",
        communication_change_columns(), changed);
  visit("communication-costs", "Medians over repeats.", communication_cost_columns(), costs);
}

/// The tables whose ids begin with `start`.
std::string tables_html(const ClaimFile& file, const std::string& start) {
  std::string out;
  for_each_table(file, [&](const std::string& id, const std::string& caption, const auto& columns, const auto& rows) {
    if (id.starts_with(start) && !rows.empty()) out += table(html_table(id, caption, columns, rows));
  });
  return out;
}

/// The figure of this id, and those that are numbered after it.
std::string figures_named(const std::vector<Figure>& figures, const std::string& id) {
  std::string out;
  for (const Figure& figure : figures)
    if ((figure.id == id || (id != "claim" && figure.id.starts_with(id))) && !figure.svg_on_page.empty())
      out += figure_html(figure, id == "claim" ? "" : figure.title, figure.subtitle);
  return out.empty() ? out : "<div class=\"figures\">\n" + out + "</div>\n";
}

/// The text of a section; nothing where nothing was measured.
std::string section(const std::string& text, const std::string& figures, const std::string& tables) {
  return tables.empty() ? std::string() : paragraph(text) + figures + tables;
}

std::string answer_html(const ClaimFile& file, const std::vector<Figure>& figures) {
  std::vector<std::string> sentences;
  for (const Finding& finding : claim_findings(file))
    sentences.push_back(finding.sentence());
  return figures_named(figures, "claim") + list(sentences);
}

std::string conditions_html(const ClaimFile& file) {
  std::vector<std::pair<std::string, std::string>> rows{
      {"machine", fmt::format("{}, {} processors", file.machine, file.processors)},
      {"load when it began", fmt::format("{:.2f} waiting processes", file.load)},
      {"language model", file.model},
      {"repeats", fmt::format("{}; of communication {}", file.repeats, file.communication_repeats)}};
  if (file.seconds) rows.emplace_back("the last start took", human_duration(*file.seconds));
  for (const auto& [what, why] : file.left_out)
    rows.emplace_back("left out: " + what, why);
  return paragraph(
             "A claimed value is reached where the whole 95 % interval reaches it, not reached where none of it does, "
             "else open. "
             "Grid, seeds and rules stand in inputs/study/claim/claim.yaml; the control was added after a first run.") +
         name_value_table(rows);
}

std::vector<std::string> warnings_of(const ClaimFile& file) {
  std::vector<std::string> out;
  if (file.is_quick)
    out.emplace_back("A quick run: it shows that everything works. Its few repeats and short runs decide nothing.");
  std::vector<std::string> crowded;
  for (const auto& [place, ranks] : file.ranks)
    if (ranks > file.processors) crowded.push_back(place);
  if (!crowded.empty())
    out.push_back(fmt::format("More ranks than the {} processors: times of {} are of ranks that wait for cores.",
                              file.processors, join(crowded, "; ")));
  return out;
}

std::vector<PagePart> parts_of(const ClaimFile& file, const std::vector<Figure>& figures) {
  std::vector<PagePart> parts{
      {"answer", "The answer", answer_html(file, figures)},
      {"iteration", "Iteration time",
       section("Both tasks train for fixed numbers of steps at equal global batches; the iteration time is the time "
               "until both are done over that number. Naive: equal split over all nodes, float32, one all-reduce after "
               "backward. Tuned: equal split, bf16, overlap, the fastest buckets. Sharing exchanges as tuned does.",
               figures_named(figures, "claim-iteration"), tables_html(file, "iteration"))},
      {"simulation", "Iteration time, simulated",
       section("From step times that others published for up to 64 GPUs. An hour of work at a task's rate in the equal "
               "split leaves "
               "little to gain: there both end together.",
               figures_named(figures, "claim-simulation"), tables_html(file, "simulated"))},
      {"memory", "Memory utilisation",
       section("Bytes that the program's allocator has given out; the rate says what they brought.", {},
               tables_html(file, "memory"))},
      {"communication", "Communication",
       section(
           "Bytes are counted by the program and checked against the interface. Exposed: what a step takes longer "
           "than without the exchange of gradients. Inside: what all-reduces take, overlapped or not. The control is "
           "fp32 that adds in another order: where its loss is as far off as that of a lossy exchange, nothing is "
           "said against the exchange.",
           figures_named(figures, "claim-communication"), tables_html(file, "communication"))},
      {"conditions", "Conditions", conditions_html(file)}};
  std::erase_if(parts, [](const PagePart& part) { return part.html.empty(); });
  return parts;
}

/// A table as documents have it.
std::string markdown_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::string out = "| " + join(head, " | ") + " |\n|" + std::string();
  for (std::size_t i = 0; i < head.size(); ++i)
    out += "---|";
  out += "\n";
  for (const std::vector<std::string>& row : rows)
    out += "| " + join(row, " | ") + " |\n";
  return out;
}

std::string markdown_of(const ClaimFile& file) {
  std::string out = fmt::format("{} -->\n{}\n", kMarkdownStart, claim_headline(file).sentence());
  for (const Finding& finding : claim_findings(file))
    out += "\n" + finding.sentence() + "\n";
  for_each_table(file, [&](const std::string& id, const std::string& caption, const auto& columns, const auto& rows) {
    if (rows.empty() || id == "simulated") return;  // 63 rows, which a sentence sums up
    std::vector<std::vector<std::string>> texts;
    texts.reserve(rows.size());
    for (const auto& row : rows)
      texts.push_back(texts_in(kPage, columns, row));
    out += "\n" + caption + "\n\n" + markdown_table(labels_in(kPage, columns), texts);
  });
  return out;
}

std::vector<PageFile> csv_files(const ClaimFile& file) {
  std::vector<PageFile> out;
  for_each_table(file, [&](const std::string& id, const std::string&, const auto& columns, const auto& rows) {
    if (rows.empty()) return;
    CsvText csv;
    for (const auto& row : rows)
      csv.add(csv_row(columns, row));
    out.push_back({id + ".csv", csv.text()});
  });
  return out;
}

}  // namespace

std::string claim_summary_json(const ClaimFile& file, const std::vector<Figure>& figures) {
  Value::Json out{{"format", "multicard-summary"},
                  {"schema_version", 3},
                  {"headline", json_of(claim_headline(file))},
                  {"findings", json_of(claim_findings(file))}};
  out["quick"] = file.is_quick;
  for_each_table(file, [&](const std::string& id, const std::string&, const auto& columns, const auto& rows) {
    out["tables"][id] = json_rows(columns, rows);
  });
  out["figures"] = json_of(figures);
  return json_text(out, 1) + "\n";
}

std::string write_claim_report(const ClaimFile& file, const std::string& folder, const Gnuplot& gnuplot,
                               Formats formats) {
  std::vector<std::string> warnings = warnings_of(file);
  std::vector<Figure> figures = figures_of(file);
  std::vector<PageFile> pages = csv_files(file);
  draw_for_page(gnuplot, figures, formats, pages, warnings);
  pages.push_back({"claim.md", markdown_of(file)});
  pages.push_back({"summary.json", claim_summary_json(file, figures)});
  const PageHead head{claim_headline(file).text, "What circulates about sharing GPUs, measured",
                      fmt::format("{}. Report by multicard-post {}.", file.path, build_info().version)};
  pages.push_back({"report.html", html_page(head, warnings, parts_of(file, figures))});
  write_pages(folder, pages);
  return (std::filesystem::path(folder) / "report.html").string();
}

}  // namespace multicard::post
