#pragma once
/// \file report.html: one file, no network, light and dark, for screens of any width and for A4.

#include <optional>
#include <string>
#include <vector>

#include "postproc/figures/Figures.hpp"
#include "postproc/study/Collection.hpp"

namespace multicard::post {

/// What the page shows besides the data.
struct PageNotes {
  std::string made_by;                ///< "multicard-post 0.1.0"
  std::vector<std::string> warnings;  ///< what a reader must know first
};

/// Figures, a list for each study and each evaluation of the collection. The page shows those that have been drawn.
struct PageFigures {
  std::vector<std::vector<Figure>> of_studies, of_evaluations;
};

/// All figures of a collection, in the order of the page, not yet drawn.
PageFigures plan_figures(const Collection& collection, const std::optional<HeatAxes>& heat = std::nullopt);

/// "headline": the answer in one sentence, without a full stop: of a shared job whether that paid, else the first
/// answer of the largest study, or the score of an evaluation.
Finding headline(const Collection& collection);

/// "subject": what was run, and how much of it completed.
Finding subject(const Collection& collection);

std::string report_page(const Collection& collection, const PageFigures& figures, const PageNotes& notes);

}  // namespace multicard::post
