#pragma once
/// \file report.html: one file, no network, light and dark, for screens of any width and for A4.

#include <string>
#include <vector>

#include "postproc/Figures.hpp"
#include "postproc/Study.hpp"

namespace multicard::post {

/// What the page says beside the study.
struct PageNotes {
  std::string made_by;  ///< "multicard-post 0.1.0"
  std::string warning;  ///< e.g. why there are no figures; may be empty
};

std::string report_page(const Study& study, const std::vector<Figure>& figures, const PageNotes& notes);

}  // namespace multicard::post
