#include "postproc/Page.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Findings.hpp"
#include "postproc/Html.hpp"
#include "postproc/Labels.hpp"
#include "postproc/PageStyle.hpp"
#include "postproc/PageTables.hpp"
#include "postproc/Standings.hpp"
#include "postproc/Svg.hpp"
#include "postproc/Tables.hpp"

namespace multicard::post {

namespace {

struct Part {
  std::string id, heading, html;
};

std::string made_with(const Study& study) {
  std::set<std::string> commands;
  for (const Source& source : study.sources)
    if (const auto found = source.attributes.find("command_line");
        found != source.attributes.end() && !found->second.empty())
      commands.insert(found->second);
  std::string out;
  for (const std::string& command : commands)
    out += fmt::format("{}<code>{}</code>", out.empty() ? "Made by " : ", ", escaped(command));
  return out;
}

std::string figures_of(const Study& study, const std::vector<Figure>& figures, Section section) {
  const std::string command = made_with(study);
  std::string out;
  for (const Figure& figure : figures) {
    if (figure.section != section || figure.svg_on_page.empty()) continue;
    out += fmt::format(
        "<figure id=\"{0}\">\n<h3>{1}</h3>\n<p class=\"note\">{2}</p>\n{3}<figcaption>{4} <span class=\"made\">{5}"
        "</span></figcaption></figure>\n",
        figure.id, escaped(figure.title), sentence(figure.subtitle), figure.svg_on_page, sentence(figure.caption),
        command);
  }
  return out;
}

std::string answer_part(const Study& study) {
  std::string out = "<div class=\"answer\">\n";
  if (study.comparable().size() == 1) {
    const std::vector<std::string> sentences = answer(study);
    out += paragraph(sentences.front());
    if (sentences.size() > 1) out += paragraph(join({sentences.begin() + 1, sentences.end()}, " "));
  } else {
    out += paragraph(winners_sentence(study) + ".") + list(answers_by_work(study));
  }
  for (const std::string& sentence : {repeats_sentence(study), failures_sentence(study)})
    if (!sentence.empty()) out += paragraph(sentence);
  return out + "</div>\n";
}

std::string study_part(const Study& study, const std::vector<Figure>& figures) {
  std::string out = table(cells_table(study));
  if (const std::string note = interval_note(study); !note.empty())
    out += fmt::format("<p class=\"note\">Rates, speedups and efficiencies: {}.</p>\n", escaped(note));
  return out + figures_of(study, figures, Section::study) + figures_of(study, figures, Section::learning);
}

std::string ranks_part(const Study& study, const std::vector<Figure>& figures) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < study.configurations.size(); ++i)
    if (const Cell* cell = largest(study, i)) lines.push_back(ranks_sentence(study, *cell));
  return list(lines) + figures_of(study, figures, Section::ranks) +
         "<p class=\"note\">Own work is a step without waiting for collectives. A straggler takes more than 5 % longer "
         "than the median of the other ranks in the same step, with a 95 % interval that lies above them.</p>\n";
}

std::string runs_part(const Study& study) {
  return fmt::format("<p class=\"screen\">{}, one line a run with every number.</p>\n",
                     download("runs.csv", "runs.csv", "text/csv", runs_csv(study))) +
         table(runs_table(study));
}

std::string pairs_text(const std::map<std::string, std::string>& pairs) {
  std::string out;
  for (const auto& [name, value] : pairs)
    out += name + "=" + value + "\n";
  return out;
}

std::string first_deck(const Study& study, std::size_t source) {
  for (const RunReport& run : study.runs)
    if (run.source == source && !run.deck.empty())
      return folded("Resolved deck of run " + run.name, preformatted(run.deck));
  return {};
}

std::string provenance_part(const Study& study) {
  std::string out;
  for (std::size_t i = 0; i < study.sources.size(); ++i) {
    const Source& source = study.sources[i];
    std::vector<std::pair<std::string, std::string>> rows{{"file", source.path}};
    rows.insert(rows.end(), source.attributes.begin(), source.attributes.end());
    rows.insert(rows.end(), source.provenance.begin(), source.provenance.end());
    out += folded("Where " + source.path + " comes from", name_value_table(rows));
    if (!source.environment.empty()) out += folded("Environment", preformatted(pairs_text(source.environment)));
    out += first_deck(study, i);
  }
  if (study.runs.size() > 1)
    out +=
        "<p class=\"note\">The decks of the other runs differ by the settings in the table of runs; each stands in "
        "the results file.</p>\n";
  return out;
}

std::string headline(const Study& study) {
  std::vector<std::string> counts;
  for (const int ranks : study.rank_counts)
    counts.push_back(std::to_string(ranks));
  const std::string on =
      fmt::format("on {} {}", join(counts, ", "), counts == std::vector<std::string>{"1"} ? "rank" : "ranks");
  if (study.configurations.size() == 1) return study.configurations[0].full_label() + " " + on;
  return fmt::format("{} {}", counted(static_cast<long>(study.configurations.size()), "configuration"), on);
}

std::string meta_line(const Study& study, const PageNotes& notes) {
  std::vector<std::string> parts;
  for (const Source& source : study.sources) {
    const auto created = source.attributes.find("created_utc");
    parts.push_back(created == source.attributes.end() ? source.path
                                                       : fmt::format("{}, {}", source.path, created->second));
  }
  return fmt::format("<p class=\"meta\">{}. Report by {}.</p>\n", escaped(join(parts, "; ")), escaped(notes.made_by));
}

std::string head_of(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}</style>\n</head>\n",
      escaped(title), kStyleSheet);
}

}  // namespace

std::string report_page(const Study& study, const std::vector<Figure>& figures, const PageNotes& notes) {
  const std::vector<Part> parts{
      {"answer", "The answer", answer_part(study)},
      {"setup", "What was run", setup_html(study)},
      {"study", "The study", study_part(study, figures)},
      {"step", "Where a step’s time goes",
       table(phases_table(study)) + figures_of(study, figures, Section::phases) + communication_html(study)},
      {"memory", "Memory", memory_html(study) + figures_of(study, figures, Section::memory)},
      {"ranks", "Ranks", ranks_part(study, figures)},
      {"runs", "Every run", runs_part(study)},
      {"provenance", "Provenance", provenance_part(study)}};
  std::string contents, body;
  for (const Part& part : parts) {
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", part.id, part.heading);
    body += fmt::format("<section id=\"{0}\">\n<h2><a class=\"anchor\" href=\"#{0}\">{1}</a></h2>\n{2}</section>\n",
                        part.id, part.heading, part.html);
  }
  const std::string title = headline(study);
  const std::string warning =
      notes.warning.empty() ? std::string() : fmt::format("<p class=\"warning\">{}</p>\n", escaped(notes.warning));
  return fmt::format(
      "{}<body>\n<div class=\"frame\">\n<header>\n<h1>{}</h1>\n{}{}</header>\n"
      "<nav aria-label=\"Contents\"><ol>\n{}</ol></nav>\n<main>\n{}</main>\n</div>\n<script>{}</script>\n</body>\n"
      "</html>\n",
      head_of("multicard: " + title), escaped(title), meta_line(study, notes), warning, contents, body, kScript);
}

}  // namespace multicard::post
