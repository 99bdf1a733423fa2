#pragma once
/// \file The report as JSON, for programs.

#include <string>

#include "postproc/page/Page.hpp"
#include "postproc/study/Collection.hpp"

namespace multicard::post {

/// Sources, the headline, studies with their axes, configurations, answers, figures, options and runs, and evaluations.
/// Each finding and title has an id and the numbers that it states. Numbers that are not known are null.
std::string summary_json(const Collection& collection, const PageFigures& figures);

}  // namespace multicard::post
