#include "postproc/page/PageParts.hpp"

#include <cmath>
#include <functional>
#include <variant>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/XmlText.hpp"
#include "postproc/page/CsvText.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/study/Evaluation.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/ShareAnswer.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

/// Longer tables are folded, or cut to their most frequent rows.
constexpr std::size_t kMostConfused = 20, kMostCellsUnfolded = 18, kMostClassesUnfolded = 40;

/// "mobilenet_v2, fp32" of "strong scaling: mobilenet_v2, fp32. 3 repeats": the settings that a subtitle begins with.
std::string settings_in(const std::string& subtitle) {
  const std::string kind = " scaling: ";
  const std::size_t from = subtitle.find(kind), start = from == std::string::npos ? 0 : from + kind.size();
  const std::size_t end = subtitle.find(". ", start);
  return end == std::string::npos ? std::string() : subtitle.substr(start, end - start);
}

/// A subtitle without the settings that were said above.
std::string without_said(const std::string& subtitle, const std::string& said) {
  if (said.empty() || !subtitle.starts_with(said)) return subtitle;
  std::string rest = subtitle.substr(said.size());
  if (!rest.starts_with(", ") && !rest.starts_with(". ")) return subtitle;
  return capitalised(rest.substr(2));
}

/// The figures of a section but `key`, which stands above; with `Topics::named`, each topic's heading before its first.
enum class Topics { named, unnamed };
std::string figures_of(const std::vector<Figure>& figures, const Figure* key, Section section, Topics topics,
                       const std::function<std::string(const std::string&)>& after_topic = {}) {
  std::string out, topic, of_topic, subtitle = key ? key->subtitle : std::string(), said = settings_in(subtitle);
  const auto finish = [&] {
    if (!of_topic.empty()) out += fmt::format("<div class=\"figures\">\n{}</div>\n", of_topic);
    of_topic.clear();
    if (!topic.empty() && after_topic) out += after_topic(topic);
  };
  for (const Figure& figure : figures) {
    if (figure.section != section || figure.svg_on_page.empty() || &figure == key) continue;
    if (figure.heading != topic) {
      finish();
      topic = figure.heading;
      if (topics == Topics::named && !topic.empty()) out += subheading(topic);
    }
    // What figures in a row have in common is said once.
    of_topic += figure_html(figure, figure.title,
                            figure.subtitle == subtitle ? std::string() : without_said(figure.subtitle, said));
    subtitle = figure.subtitle;
    if (const std::string settings = settings_in(subtitle); !settings.empty() && said.empty()) said = settings;
  }
  finish();
  return out;
}

std::string side_by_side(const std::string& figures) {
  return "<div class=\"figures\">\n" + figures + "</div>\n";
}

/// Of a chart's data: numbers in full, nothing for what is not known.
struct ToField {
  std::string operator()(const std::string& name) const { return name; }
  std::string operator()(double value) const { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }
};

/// Nothing of no findings.
std::string list_of(const Findings& findings) {
  return findings.empty() ? std::string() : list(texts_of(findings));
}

/// Figures, and tables of what they show folded; where there are no figures the tables.
std::string with_tables(const std::string& figures, const std::string& summary, const std::string& tables) {
  return figures.empty() ? tables : figures + folded(summary, tables);
}

/// Of each configuration on most ranks, where stragglers matter most.
std::string ranks_of(const Study& study, const std::vector<Figure>& figures, const Figure* key) {
  std::vector<const Cell*> cells;
  for (std::size_t i = 0; i < study.configurations.size(); ++i)
    if (const Cell* cell = largest(study, i); cell && cell->ranks > 1) cells.push_back(cell);
  if (cells.empty()) return {};
  const std::string boxes =
      figures_of(figures, key, Section::ranks, Topics::unnamed) +
      "<p class=\"note\">Own work: a step without waiting for collectives. A straggler takes more than 5 % longer than "
      "the others, with a 95 % interval above 1.</p>\n";
  const std::string out =
      cells.size() == 1 ? paragraph(ranks_finding(study, *cells.front()).text) : table(ranks_table(study, cells));
  const bool any_slow = std::ranges::any_of(cells, [](const Cell* cell) { return !stragglers_of(*cell).empty(); });
  return out + (any_slow ? boxes : folded("Own work of each rank", boxes));
}

std::string pairs_text(const std::map<std::string, std::string>& pairs) {
  std::string out;
  for (const auto& [name, value] : pairs)
    out += name + "=" + value + "\n";
  return out;
}

/// Decks of one file differ by what the sweep set: the first stands for all.
std::string first_deck(const Collection& collection, const std::string& path) {
  for (const Study& study : collection.studies)
    for (const RunReport& run : study.runs)
      if (study.sources[run.source].path == path && !run.deck.empty())
        return folded(fmt::format("Resolved deck of run {}{}", run.name,
                                  study.runs.size() > 1 ? "; those of the others are in the results file" : ""),
                      preformatted(run.deck));
  for (const RunReport& run : collection.evaluated)
    if (collection.sources[run.source].path == path && !run.deck.empty())
      return folded("Resolved deck of the evaluation", preformatted(run.deck));
  return {};
}

}  // namespace

std::string each_study(const Collection& collection, const std::function<std::string(std::size_t)>& part) {
  std::string out;
  for (std::size_t i = 0; i < collection.studies.size(); ++i) {
    const std::string html = part(i);
    if (!html.empty() && collection.studies.size() > 1) out += subheading(collection.studies[i].title());
    out += html;
  }
  return out;
}

std::string figure_html(const Figure& figure, const std::string& title, const std::string& subtitle) {
  CsvText csv;
  for (const std::vector<ChartValue>& row : figure.data.rows) {
    CsvText::Row fields;
    for (std::size_t i = 0; i < row.size(); ++i)
      fields.emplace_back(figure.data.columns[i], std::visit(ToField{}, row[i]));
    csv.add(fields);
  }
  const auto line = [](const char* name, const std::string& text) {
    return text.empty() ? std::string() : fmt::format("<p class=\"{}\">{}</p>\n", name, sentence(text));
  };
  return fmt::format(
      "<figure id=\"{}\">\n{}{}{}<figcaption>{} <span class=\"screen\">{}</span>"
      "</figcaption></figure>\n",
      figure.id, line("title", title), line("note", subtitle), figure.svg_on_page, sentence(figure.caption),
      download("Data", figure.id + ".csv", "text/csv", csv.text()));
}

std::string answer_figure_html(const std::vector<Figure>& figures) {
  if (figures.empty() || figures.front().svg_on_page.empty()) return {};
  return side_by_side(figure_html(figures.front(), {}, figures.front().subtitle));
}

std::string other_figures_html(const std::vector<Figure>& figures) {
  std::string out;
  for (std::size_t i = 1; i < figures.size(); ++i)
    if (const Figure& figure = figures[i]; !figure.svg_on_page.empty())
      out += figure_html(figure, figure.title, figure.subtitle);
  return out.empty() ? out : side_by_side(out);
}

std::string advice_html(const Collection& collection) {
  return each_study(collection, [&](std::size_t i) { return list_of(collection.studies[i].advice); });
}

std::string findings_html(const Collection& collection) {
  return each_study(collection, [&](std::size_t i) { return list_of(collection.studies[i].findings); });
}

std::string before_after_html(const Collection& collection) {
  return each_study(collection, [&](std::size_t i) { return before_after_html(collection.studies[i]); });
}

std::string profiles_html(const Collection& collection) {
  return each_study(collection, [&](std::size_t i) { return profile_html(collection.studies[i]); });
}

std::string study_html(const Study& study, const std::vector<Figure>& figures, const Figure* key) {
  const std::string cells = table(cells_table(study));
  const bool few = study.cells.size() <= kMostCellsUnfolded;
  std::string out = few ? cells : std::string();
  out += data_sets_html(study) + methods_html(study) + allocation_html(study);
  // Tables of options and predictions follow their figures; without gnuplot there are none to follow.
  bool options_shown = false, scaling_shown = false;
  out += figures_of(figures, key, Section::study, Topics::named, [&](const std::string& topic) {
    if (topic == kPrediction) {
      scaling_shown = true;
      return scaling_html(study);
    }
    if (topic != kOptionEffect) return std::string();
    options_shown = true;
    return options_html(study);
  });
  if (!scaling_shown) out += scaling_html(study);
  if (!options_shown) out += options_html(study);
  if (!few) out += folded(fmt::format("Table of {}", counted(static_cast<long>(study.cells.size()), "cell")), cells);
  return out + figures_of(figures, key, Section::learning, Topics::named);
}

std::string step_html(const Collection& collection, const PageFigures& figures) {
  const Figure* const key = key_figure(collection, figures);
  return each_study(collection, [&](std::size_t i) {
    const Study& study = collection.studies[i];
    if (std::ranges::all_of(study.cells, [](const Cell& cell) { return cell.measured.empty(); })) return std::string();
    const std::string details =
        communication_html(study) + transfers_html(study) + input_files_html(study) + resources_html(study);
    return with_tables(figures_of(figures.of_studies[i], key, Section::phases, Topics::unnamed),
                       "Milliseconds of each phase", table(phases_table(study))) +
           (details.empty() ? details : folded("Collectives, copies, files and resources", details));
  });
}

std::string memory_html(const Collection& collection, const PageFigures& figures) {
  return each_study(collection, [&](std::size_t i) {
    const std::string counters = memory_html(collection.studies[i]);
    return counters.empty() ? counters
                            : with_tables(figures_of(figures.of_studies[i], key_figure(collection, figures),
                                                     Section::memory, Topics::unnamed),
                                          "All counters of memory", counters);
  });
}

std::string ranks_html(const Collection& collection, const PageFigures& figures) {
  return each_study(collection, [&](std::size_t i) {
    return ranks_of(collection.studies[i], figures.of_studies[i], key_figure(collection, figures));
  });
}

std::string evaluations_html(const Collection& collection, const PageFigures& figures) {
  std::string out;
  for (std::size_t i = 0; i < collection.evaluated.size(); ++i) {
    const RunReport& run = collection.evaluated[i];
    const EvaluationReport& report = *run.evaluation;
    if (collection.evaluated.size() > 1) out += subheading(evaluation_name(run));
    const bool is_title = collection.studies.empty() && i == 0;
    if (!report.language && !is_title) out += paragraph(score_sentence(report));
    out += name_value_table(evaluation_facts(run));
    if (report.language) continue;
    const std::string classes = table(classes_table(report));
    out += figures_of(figures.of_evaluations[i], nullptr, Section::learning, Topics::unnamed) +
           (report.classes.size() <= kMostClassesUnfolded
                ? classes
                : folded(fmt::format("Table of {} classes", report.classes.size()), classes));
    if (const HtmlTable confused = confused_table(report, kMostConfused); !confused.rows.empty())
      out += table(confused);
  }
  return out;
}

std::string runs_html(const Collection& collection) {
  std::vector<std::string> links{download("runs.csv", "runs.csv", "text/csv", runs_csv(collection)),
                                 download("cells.csv", "cells.csv", "text/csv", cells_csv(collection))};
  if (std::ranges::any_of(collection.studies, [](const Study& study) { return !study.effects.empty(); }))
    links.push_back(download("options.csv", "options.csv", "text/csv", options_csv(collection)));
  return fmt::format("<p class=\"screen\">Every number: {}.</p>\n", join(links, ", ")) +
         each_study(collection, [&](std::size_t i) { return table(runs_table(collection.studies[i]), Caption::name); });
}

std::string provenance_html(const Collection& collection) {
  std::string out;
  for (const Source& source : collection.sources) {
    std::vector<std::pair<std::string, std::string>> rows{{"file", source.path}};
    rows.insert(rows.end(), source.attributes.begin(), source.attributes.end());
    rows.insert(rows.end(), source.provenance.begin(), source.provenance.end());
    out += folded("Where " + source.path + " comes from", name_value_table(rows));
    if (!source.environment.empty()) out += folded("Environment", preformatted(pairs_text(source.environment)));
    out += first_deck(collection, source.path);
  }
  return out;
}

}  // namespace multicard::post
