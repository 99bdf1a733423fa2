#pragma once
/// \file What a run records, in memory: the same names as in the results file (docs/results_file.md).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace multicard {

/// One metric: values and the step (or number of completed updates, for eval_*) each belongs to.
struct MetricSeries {
  std::vector<double> values;
  std::vector<std::int64_t> steps;
};

/// How values that two parts of a run measured (before and after a resume or a move) become those of the whole.
enum class Merge {
  per_step,   ///< one after the other; steps in which a rank took no part are NaN, or 0 for counts
  per_epoch,  ///< added epoch by epoch; epochs in which it took no part are NaN
  sampled,    ///< one after the other; of each rank as many as it has taken, each with its time
  total,      ///< added
  largest     ///< the larger one
};

/// From `first_step` on, `ranks` ranks ran.
struct Segment {
  std::int64_t first_step = 0;
  std::int64_t ranks = 0;
};

/// Named columns of equal length.
struct Table {
  std::map<std::string, std::vector<std::string>> text = {};
  std::map<std::string, std::vector<std::int64_t>> integers = {};
  std::map<std::string, std::vector<double>> reals = {};
  std::map<std::string, Merge> merge = {};  ///< of columns that add up over the parts of a run (RankTable); else empty
};

/// What is equal on all ranks of a run.
struct RunSummary {
  std::string name;  ///< "main", or "0000"... in a sweep
  /// String, integer and real attributes of /runs/<run>; every swept key stands here under its deck path.
  std::map<std::string, std::string> text;
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, double> reals;
  std::string status = "complete";  ///< complete | stopped | failed
  std::string error;                ///< why it failed, else empty
  std::int64_t skip_steps = 0;
  std::map<std::string, MetricSeries> metrics;
  std::vector<Segment> segments;        ///< empty: all ranks from the first step on
  std::map<std::string, Table> tables;  ///< by path in the run, e.g. "profile/kernels", "allocation/decisions"
};

}  // namespace multicard
