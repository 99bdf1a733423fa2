#include "postproc/page/Page.hpp"

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/page/PageFrame.hpp"
#include "postproc/page/PageParts.hpp"
#include "postproc/page/PageTables.hpp"

namespace multicard::post {

namespace {

std::string meta_line(const Collection& collection, const PageNotes& notes) {
  std::vector<std::string> parts;
  for (const Source& source : collection.sources) {
    const auto created = source.attributes.find("created_utc");
    parts.push_back(created == source.attributes.end() ? source.path
                                                       : fmt::format("{}, {}", source.path, created->second));
  }
  return fmt::format("{}. Report by {}.", join(parts, "; "), notes.made_by);
}

/// Parts of what is not there (studies, evaluations, counts) are left out, with their entries in the contents.
std::vector<PagePart> parts_of(const Collection& collection, const PageFigures& figures) {
  std::vector<PagePart> parts{{"answer", "The answer", answer_html(collection, figures)}};
  if (!collection.studies.empty()) {
    parts.push_back({"setup", "What was run", setup_html(collection)});
    parts.push_back({"advice", "What to use", advice_html(collection)});
    parts.push_back({"findings", "What slows runs down", findings_html(collection)});
    parts.push_back({"before-after", "Before and after", before_after_html(collection)});
    for (std::size_t i = 0; i < collection.studies.size(); ++i) {
      const Study& study = collection.studies[i];
      parts.push_back({study.id.empty() ? "study" : study.id, study.id.empty() ? "The study" : study.title(),
                       study_html(study, figures.of_studies[i], key_figure(collection, figures))});
    }
    if (!collection.counted.empty()) parts.push_back({"counted", kCountedHeading, counted_html(collection.counted)});
    parts.push_back({"step", "Where a step’s time goes", step_html(collection, figures)});
    parts.push_back({"profile", "Profile", profiles_html(collection)});
    parts.push_back({"memory", "Memory", memory_html(collection, figures)});
    parts.push_back({"ranks", "Ranks", ranks_html(collection, figures)});
  }
  if (!collection.evaluated.empty())
    parts.push_back({"evaluation", "Evaluation", evaluations_html(collection, figures)});
  if (!collection.studies.empty()) parts.push_back({"runs", "Every run", runs_html(collection)});
  parts.push_back({"provenance", "Provenance", provenance_html(collection)});
  std::erase_if(parts, [](const PagePart& part) { return part.html.empty(); });
  return parts;
}

}  // namespace

PageFigures plan_figures(const Collection& collection, const std::optional<HeatAxes>& heat) {
  PageFigures figures;
  for (const Study& study : collection.studies)
    figures.of_studies.push_back(plan_figures(study, heat));
  for (std::size_t i = 0; i < collection.evaluated.size(); ++i) {
    // One list for each evaluation, even where it has no figure: JSON and page go through both together.
    figures.of_evaluations.emplace_back();
    add_confusion_figure(collection.evaluated[i], numbered("confusion", static_cast<int>(i)),
                         figures.of_evaluations.back());
  }
  return figures;
}

std::string report_page(const Collection& collection, const PageFigures& figures, const PageNotes& notes) {
  return html_page({headline(collection).text, subject(collection).text, meta_line(collection, notes)}, notes.warnings,
                   parts_of(collection, figures));
}

}  // namespace multicard::post
