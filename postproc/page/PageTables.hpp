#pragma once
/// \file The tables of the report. What has nothing to show is empty.

#include <string>
#include <vector>

#include "postproc/page/Html.hpp"
#include "postproc/study/CountedMethods.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// One line per configuration and number of ranks: rate, speedup, efficiency, waiting.
HtmlTable cells_table(const Study& study);

/// One line per cell: milliseconds of each phase.
HtmlTable phases_table(const Study& study);

/// One line per run, failed and stopped ones included.
HtmlTable runs_table(const Study& study);

/// How much the own work of ranks differs, one line per cell.
HtmlTable ranks_table(const Study& study, const std::vector<const Cell*>& cells);

/// Collectives of each cell's representative run, by kind.
std::string communication_html(const Study& study);

/// Bytes per step and rank by direction; empty where all ranks computed on CPUs.
std::string transfers_html(const Study& study);

/// One line per option: its effect against the baseline value, where it is least and most.
std::string options_html(const Study& study);

/// What ranks used of their machines and GPUs while they trained; empty where it was not recorded.
std::string resources_html(const Study& study);

/// What making batches took, and what each rank read and wrote; empty where it was not recorded.
std::string input_files_html(const Study& study);

/// Peaks and the parts of the model's memory, without counters that are 0; empty where none was recorded.
std::string memory_html(const Study& study);

/// Of tasks that shared the ranks of one job: a line for each task and the ranks that it had for some time, with
/// predicted and measured seconds of a step; what was decided and why; other policies.
std::string allocation_html(const Study& study);

/// What tuning changed: scores before and after, and answers.
std::string before_after_html(const Study& study);

/// Findings and the table of data sets, where the study compares them.
std::string data_sets_html(const Study& study);

/// What each tuning method takes and reaches, where the study compares them.
std::string methods_html(const Study& study);
/// What each tuning method needs, how fast it is and what it reaches; empty where no memory is known.
std::string method_limits_html(const Study& study);

/// What the profile windows of the runs recorded; empty where none has a profile.
std::string profile_html(const Study& study);

/// One line per configuration with a prediction for more ranks.
std::string scaling_html(const Study& study);

/// The heading of what was counted on a simulated GPU.
inline constexpr const char* kCountedHeading = "Counted on a simulated GPU, not timed";

/// Launches, copies, all-reduced bytes and memory of a step of each method.
std::string counted_html(const std::vector<CountedMethod>& methods);

/// One line per class of an evaluation, recall with its interval.
HtmlTable classes_table(const EvaluationReport& report);

/// The pairs of classes that are confused most, at most `most` of them.
HtmlTable confused_table(const EvaluationReport& report, std::size_t most);

}  // namespace multicard::post
