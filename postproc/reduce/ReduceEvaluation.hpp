#pragma once
/// \file What `multicard eval` left, as the report shows it.

#include <optional>

#include "postproc/reduce/RunReport.hpp"

namespace multicard::post {

/// The tables evaluation/classes and evaluation/confusion, or the scores of a language model, which are attributes;
/// nothing for a run that was not evaluated so. Throws DataError when a table lacks a column, or a count names a class
/// that is not there.
std::optional<EvaluationReport> reduce_evaluation(const RunSummary& summary);

}  // namespace multicard::post
