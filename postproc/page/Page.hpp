#pragma once
/// \file report.html: one file, no network, light and dark, for screens of any width and for A4.

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

/// Drawn figures: a list for each study and each evaluation of the collection.
struct PageFigures {
  std::vector<std::vector<Figure>> of_studies, of_evaluations;
};

std::string report_page(const Collection& collection, const PageFigures& figures, const PageNotes& notes);

}  // namespace multicard::post
