#pragma once
/// \file Reduces what `multicard eval` recorded.

#include <optional>

#include "postproc/reduce/RunReport.hpp"

namespace multicard::post {

/// The tables evaluation/classes and evaluation/confusion, or the scores of a language model, which are attributes;
/// nothing for a run that was not evaluated. Throws DataError when a table lacks a column, or a count names a class
/// that is not there.
std::optional<EvaluationReport> reduce_evaluation(const RunSummary& summary);

}  // namespace multicard::post
