#pragma once
/// \file The comparison of data sets in the report.

#include <string>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// Sentences and the table of data sets below a heading; empty when the study does not compare them.
std::string data_sets_html(const Study& study);

}  // namespace multicard::post
