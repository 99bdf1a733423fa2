#pragma once
/// \file What a sweep says: its plan, and how it ended. For rank 0; other ranks print nothing.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/Error.hpp"
#include "tasks/options/Variant.hpp"
#include "train/Progress.hpp"

namespace multicard {

/// "[ 7/16] 0006" and "[ 7/16] 0006  ranks 2  image_size 64  repeat 1" of every variant, in columns; keys by their last
/// word where that is unambiguous.
std::vector<RunLabel> aligned_labels(const std::vector<Variant>& variants);

/// How a run ended, and what is left after it.
struct ClosedRun {
  std::vector<std::string> outcome;  ///< in words: forms of the same, from the longest to the shortest
  double seconds = 0;
  int num_left = 0;  ///< runs
  double seconds_left = 0;
};

/// "[ 7/16] 0006  ranks 2  208 img/s, 307 ms per step (data 0.1 %, reduce 1.2 %), 12 s; 9 runs left, about 2 min". On a
/// terminal of `columns` the longest form that fits in one line, else the longest that fits in a second one of its own;
/// a longer one is left to be wrapped.
std::string closing_line(const RunLabel& label, const ClosedRun& run, std::optional<std::size_t> columns);

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
