#include "postproc/page/PageParts.hpp"

#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/XmlText.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/study/Evaluation.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/ShareAnswer.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

/// Longer tables are folded, or cut to their most frequent rows.
constexpr std::size_t kMostConfused = 20, kMostCellsUnfolded = 18, kMostClassesUnfolded = 40;

/// The command lines of all files, each once: what repeats the figure's measurement.
std::string made_with(const std::vector<Source>& sources) {
  std::set<std::string> commands;
  for (const Source& source : sources)
    if (const auto found = source.attributes.find("command_line");
        found != source.attributes.end() && !found->second.empty())
      commands.insert(found->second);
  std::string out;
  for (const std::string& command : commands)
    out += fmt::format("{}<code>{}</code>", out.empty() ? "Made by " : ", ", escaped(command));
  return out;
}

std::string figure_html(const Figure& figure, const std::string& command) {
  return fmt::format(
      "<figure id=\"{0}\">\n<h4>{1}</h4>\n<p class=\"note\">{2}</p>\n{3}<figcaption>{4} <span class=\"made\">{5}"
      "</span></figcaption></figure>\n",
      figure.id, escaped(figure.title), sentence(figure.subtitle), figure.svg_on_page, sentence(figure.caption),
      command);
}

/// The figures of a section; with `Topics::named`, each topic's heading before its first.
enum class Topics { named, unnamed };
std::string figures_of(const std::vector<Source>& sources, const std::vector<Figure>& figures, Section section,
                       Topics topics, const std::function<std::string(const std::string&)>& after_topic = {}) {
  const std::string command = made_with(sources);
  std::string out, topic;
  const auto finish = [&] {
    if (!topic.empty() && after_topic) out += after_topic(topic);
  };
  for (const Figure& figure : figures) {
    if (figure.section != section || figure.svg_on_page.empty()) continue;
    if (figure.heading != topic) {
      finish();
      topic = figure.heading;
      if (topics == Topics::named && !topic.empty()) out += subheading(topic);
    }
    out += figure_html(figure, command);
  }
  finish();
  return out;
}

/// `part` of each study, below the study's title where there are several.
std::string each_study(const Collection& collection, const std::function<std::string(std::size_t)>& part) {
  std::string out;
  for (std::size_t i = 0; i < collection.studies.size(); ++i) {
    const std::string html = part(i);
    if (!html.empty() && collection.studies.size() > 1) out += subheading(collection.studies[i].title());
    out += html;
  }
  return out;
}

/// The first sentence alone, the rest below it: in one paragraph where all configurations do the same work, else as a
/// list.
std::string answer_of(const Study& study) {
  const std::vector<std::string> texts = texts_of(study.answers);
  if (study.kind == StudyKind::methods) return list(texts);
  const std::string first = paragraph(study.answers.front().sentence());
  const std::vector<std::string> others(texts.begin() + 1, texts.end());
  if (study.kind != StudyKind::one_work) return first + list(others);
  return others.empty() ? first : first + paragraph(join(others, " "));
}

/// Nothing of no findings.
std::string list_of(const Findings& findings) {
  return findings.empty() ? std::string() : list(texts_of(findings));
}

std::string cells_html(const Study& study) {
  std::string out = table(cells_table(study));
  if (const std::string note = interval_note(study); !note.empty())
    out += fmt::format("<p class=\"note\">Rates, speedups and efficiencies: {}.</p>\n", escaped(note));
  return out;
}

/// Of each configuration on most ranks, where stragglers matter most.
std::string ranks_of(const Study& study, const std::vector<Figure>& figures) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < study.configurations.size(); ++i)
    if (const Cell* cell = largest(study, i)) lines.push_back(ranks_finding(study, *cell).text);
  return list(lines) + figures_of(study.sources, figures, Section::ranks, Topics::unnamed);
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
        return folded("Resolved deck of run " + run.name, preformatted(run.deck));
  for (const RunReport& run : collection.evaluated)
    if (collection.sources[run.source].path == path && !run.deck.empty())
      return folded("Resolved deck of the evaluation", preformatted(run.deck));
  return {};
}

}  // namespace

std::string answer_html(const Collection& collection) {
  std::string out = "<div class=\"answer\">\n";
  for (const Source& source : collection.sources)
    if (const Finding share = share_finding(source.allocation); !share.empty()) out += paragraph(share.text);
  out += each_study(collection, [&](std::size_t i) { return answer_of(collection.studies[i]); });
  for (const RunReport& run : collection.evaluated)
    out += paragraph(fmt::format("{}: {}", evaluation_name(run), score_sentence(*run.evaluation)));
  return out + "</div>\n";
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

std::string study_html(const Study& study, const std::vector<Figure>& figures) {
  const std::string cells = cells_html(study);
  const bool few = study.cells.size() <= kMostCellsUnfolded;
  std::string out = few ? cells : std::string();
  out += data_sets_html(study) + methods_html(study) + allocation_html(study);
  // Tables of options and predictions follow their figures; without gnuplot there are none to follow.
  bool options_shown = false, scaling_shown = false;
  out += figures_of(study.sources, figures, Section::study, Topics::named, [&](const std::string& topic) {
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
  return out + figures_of(study.sources, figures, Section::learning, Topics::named);
}

std::string step_html(const Collection& collection, const PageFigures& figures) {
  return each_study(collection, [&](std::size_t i) {
    const Study& study = collection.studies[i];
    return table(phases_table(study)) +
           figures_of(study.sources, figures.of_studies[i], Section::phases, Topics::unnamed) +
           communication_html(study) + transfers_html(study) + input_files_html(study) + resources_html(study);
  });
}

std::string memory_html(const Collection& collection, const PageFigures& figures) {
  return each_study(collection, [&](std::size_t i) {
    return memory_html(collection.studies[i]) +
           figures_of(collection.studies[i].sources, figures.of_studies[i], Section::memory, Topics::unnamed);
  });
}

std::string ranks_html(const Collection& collection, const PageFigures& figures) {
  return each_study(collection, [&](std::size_t i) { return ranks_of(collection.studies[i], figures.of_studies[i]); }) +
         "<p class=\"note\">Own work is a step without waiting for collectives. A straggler takes more than 5 % longer "
         "than the median of the other ranks in the same step, with a 95 % interval that lies above them.</p>\n";
}

std::string evaluations_html(const Collection& collection, const PageFigures& figures) {
  std::string out;
  for (std::size_t i = 0; i < collection.evaluated.size(); ++i) {
    const RunReport& run = collection.evaluated[i];
    const EvaluationReport& report = *run.evaluation;
    if (collection.evaluated.size() > 1) out += subheading(evaluation_name(run));
    if (!report.language) out += paragraph(score_sentence(report));
    out += name_value_table(evaluation_facts(run));
    if (report.language) continue;
    const std::string classes = table(classes_table(report));
    out += figures_of({collection.sources[run.source]}, figures.of_evaluations[i], Section::learning, Topics::unnamed) +
           (report.classes.size() <= kMostClassesUnfolded
                ? classes
                : folded(fmt::format("Table of {} classes", report.classes.size()), classes));
    if (const HtmlTable confused = confused_table(report, kMostConfused); !confused.rows.empty())
      out += table(confused);
  }
  return out;
}

std::string runs_html(const Collection& collection) {
  const std::string links = join({download("runs.csv", "runs.csv", "text/csv", runs_csv(collection)),
                                  download("cells.csv", "cells.csv", "text/csv", cells_csv(collection)),
                                  download("options.csv", "options.csv", "text/csv", options_csv(collection))},
                                 ", ");
  return fmt::format("<p class=\"screen\">{}: one line a run, a configuration, an option, with every number.</p>\n",
                     links) +
         each_study(collection, [&](std::size_t i) { return table(runs_table(collection.studies[i])); });
}

std::string provenance_html(const Collection& collection) {
  std::string out;
  std::size_t num_runs = 0;
  for (const Study& study : collection.studies)
    num_runs += study.runs.size();
  for (const Source& source : collection.sources) {
    std::vector<std::pair<std::string, std::string>> rows{{"file", source.path}};
    rows.insert(rows.end(), source.attributes.begin(), source.attributes.end());
    rows.insert(rows.end(), source.provenance.begin(), source.provenance.end());
    out += folded("Where " + source.path + " comes from", name_value_table(rows));
    if (!source.environment.empty()) out += folded("Environment", preformatted(pairs_text(source.environment)));
    out += first_deck(collection, source.path);
  }
  if (num_runs > 1)
    out +=
        "<p class=\"note\">The decks of the other runs differ by the settings in the table of runs; each is in "
        "the results file.</p>\n";
  return out;
}

}  // namespace multicard::post
