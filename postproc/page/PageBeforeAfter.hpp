#pragma once
/// \file What tuning changed, in the report.

#include <string>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// Tables and answers of a study; empty when no run has any.
std::string before_after_html(const Study& study);

}  // namespace multicard::post
