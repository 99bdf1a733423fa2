#pragma once
/// \file The tables of an evaluation.

#include "postproc/page/Html.hpp"
#include "postproc/reduce/RunReport.hpp"

namespace multicard::post {

/// One line per class, in the order of the classes, recall with its interval.
HtmlTable classes_table(const EvaluationReport& report);

/// The pairs of classes that are confused most, at most `most` of them; without rows where nothing is confused.
HtmlTable confused_table(const EvaluationReport& report, std::size_t most);

}  // namespace multicard::post
