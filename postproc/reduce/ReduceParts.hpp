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

/// What each rank used while it trained, over all samples; empty for runs of versions that took none.
std::vector<RankResources> reduce_resources(const RunData& run);

/// What each rank read and wrote, and what making batches took; empty for runs of versions that counted neither.
std::vector<FilesReport> reduce_input_files(const RunData& run);

/// \name Of the measured steps, of which there must be at least one
/// @{
/// Compares ranks: fills rank_reports (own times, stragglers) and rank_spread of `report`.
void reduce_ranks(const RunData& run, const std::vector<std::size_t>& measured, RunReport& report);
/// Means of the token counts; nothing for a run that does not count tokens.
std::optional<TextReport> reduce_text(const RunData& run, const std::vector<std::size_t>& measured);
/// @}

}  // namespace multicard::post
