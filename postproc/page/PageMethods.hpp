#pragma once
/// \file Tuning methods in the report.

#include <string>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// What each tuning method takes and reaches; empty when the study does not compare methods.
std::string methods_html(const Study& study);

}  // namespace multicard::post
