#pragma once
/// \file The parts of reduce_run(): what only some runs record.

#include <optional>
#include <vector>

#include "postproc/reduce/RunReport.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// What `multicard eval` recorded: the tables evaluation/classes and evaluation/confusion, or the scores of a language
/// model, which are attributes; nothing for a run that was not evaluated. Throws DataError when a table lacks a column,
/// or a count names a class that is not there.
std::optional<EvaluationReport> reduce_evaluation(const RunSummary& summary);

/// What tuning a language model changed. Nothing for other tasks, and where neither a score before the first step nor
/// answers were recorded.
std::optional<TuningReport> reduce_tuning(const RunSummary& summary);

/// What each rank read and wrote, and what making batches took; empty for runs of versions that counted neither.
std::vector<FilesReport> reduce_input_files(const RunData& run);

/// Means of the token counts over the measured steps, at least one; nothing for a run that does not count tokens.
std::optional<TextReport> reduce_text(const RunData& run, const std::vector<std::size_t>& measured);

}  // namespace multicard::post
