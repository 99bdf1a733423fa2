#pragma once
/// \file What a sweep says: its plan, and how it ended. For rank 0; other ranks print nothing.

#include <map>
#include <string>
#include <vector>

#include "base/Error.hpp"
#include "tasks/Variant.hpp"

namespace multicard {

/// "[ 7/16] 0006  ranks 2  image_size  64  repeat 1" of every variant, in columns; keys by their last word where that
/// tells them from the others.
std::vector<std::string> aligned_heads(const std::vector<Variant>& variants);

/// The variants in the order of their runs.
std::vector<const Variant*> in_order_of_time(const std::vector<Variant>& variants);

/// Logs a line for every run in the order of time, with its length, or why it is refused.
void log_plan(const std::vector<Variant>& variants);

/// How the runs of a results file ended.
struct SweepEnd {
  std::size_t num_runs = 0, num_complete = 0;
  std::map<std::string, std::vector<std::string>> failed;  ///< names of runs, by reason
  /// Complete when a run is; else how the first of them failed.
  ExitCode code = ExitCode::complete;
};

/// \throws DataError when the file cannot be read.
SweepEnd read_sweep_end(const std::string& results);

/// Logs how many runs are complete, why the others are not, and where the file is.
void log_sweep_end(const SweepEnd& end, const std::string& results);

}  // namespace multicard
