#include "postproc/page/Page.hpp"

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/XmlText.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageCounted.hpp"
#include "postproc/page/PageParts.hpp"
#include "postproc/page/PageStyle.hpp"
#include "postproc/study/Evaluation.hpp"

namespace multicard::post {

namespace {

struct Part {
  std::string id, heading, html;
};

std::string headline(const Collection& collection) {
  if (collection.studies.empty()) return "Evaluation of " + evaluation_name(collection.evaluated.front());
  const Study& study = collection.studies.front();
  if (collection.studies.size() > 1) return fmt::format("{} studies", collection.studies.size());
  if (study.configurations.size() == 1) return study.title();
  return fmt::format("{}: {}", study.title(), counted(static_cast<long>(study.configurations.size()), "configuration"));
}

std::string meta_line(const Collection& collection, const PageNotes& notes) {
  std::vector<std::string> parts;
  for (const Source& source : collection.sources) {
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

std::vector<Part> parts_of(const Collection& collection, const PageFigures& figures) {
  std::vector<Part> parts{{"answer", "The answer", answer_html(collection)}};
  if (!collection.studies.empty()) {
    if (const std::string advice = advice_html(collection); !advice.empty())
      parts.push_back({"advice", "What to use", advice});
    if (const std::string changes = before_after_html(collection); !changes.empty())
      parts.push_back({"before-after", "Before and after", changes});
    parts.push_back({"setup", "What was run", setup_html(collection)});
    for (std::size_t i = 0; i < collection.studies.size(); ++i) {
      const Study& study = collection.studies[i];
      parts.push_back({study.id.empty() ? "study" : study.id, study.id.empty() ? "The study" : study.title(),
                       study_html(study, figures.of_studies[i])});
    }
    if (!collection.counted.empty()) parts.push_back({"counted", kCountedHeading, counted_html(collection.counted)});
    parts.push_back({"step", "Where a step’s time goes", step_html(collection, figures)});
    parts.push_back({"memory", "Memory", memory_html(collection, figures)});
    parts.push_back({"ranks", "Ranks", ranks_html(collection, figures)});
  }
  if (!collection.evaluated.empty())
    parts.push_back({"evaluation", "Evaluation", evaluations_html(collection, figures)});
  if (!collection.studies.empty()) parts.push_back({"runs", "Every run", runs_html(collection)});
  parts.push_back({"provenance", "Provenance", provenance_html(collection)});
  return parts;
}

}  // namespace

std::string report_page(const Collection& collection, const PageFigures& figures, const PageNotes& notes) {
  std::string contents, body, warnings;
  for (const Part& part : parts_of(collection, figures)) {
    contents += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", part.id, escaped(part.heading));
    body += fmt::format("<section id=\"{0}\">\n<h2><a class=\"anchor\" href=\"#{0}\">{1}</a></h2>\n{2}</section>\n",
                        part.id, escaped(part.heading), part.html);
  }
  for (const std::string& warning : notes.warnings)
    warnings += fmt::format("<p class=\"warning\">{}</p>\n", escaped(warning));
  const std::string title = headline(collection);
  return fmt::format(
      "{}<body>\n<div class=\"frame\">\n<header>\n<h1>{}</h1>\n{}{}</header>\n"
      "<nav aria-label=\"Contents\"><ol>\n{}</ol></nav>\n<main>\n{}</main>\n</div>\n<script>{}</script>\n</body>\n"
      "</html>\n",
      head_of("multicard: " + title), escaped(title), meta_line(collection, notes), warnings, contents, body, kScript);
}

}  // namespace multicard::post
