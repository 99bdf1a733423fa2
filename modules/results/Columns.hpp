#pragma once
/// \file What a run records, in memory: the same names as in the results file (docs/results_file.md).

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/Measures.hpp"

namespace multicard {

/// One metric: values and the step (or number of completed updates, for eval_*) each belongs to.
struct MetricSeries {
  std::vector<double> values;
  std::vector<std::int64_t> steps;
};

/// Everything one rank knows about one run. Per-step vectors have one element for each of `steps`.
struct RankRecord {
  std::string clock = "host";  ///< "host" or "device"
  std::int64_t first_step = 0;
  std::vector<StepTimes> steps;                             ///< absent_step() where this rank took no part
  std::vector<std::int64_t> samples;                        ///< of this rank, per step
  std::map<std::string, std::vector<std::int64_t>> counts;  ///< per step: tokens, trained_tokens, computed_tokens
  std::map<std::string, std::vector<double>> extra_times;  ///< per step: seconds beside the phases, e.g. host_data_wait
  std::map<std::string, std::vector<double>> epochs;       ///< train, evaluate, checkpoint: seconds
  std::map<std::string, std::int64_t> memory;              ///< e.g. host_peak_bytes, "model/parameters"
  std::map<std::string, CommunicationTotals> communication;  ///< by kind, e.g. "all_reduce"
  std::map<std::string, std::int64_t> transfers;             ///< by direction, e.g. "host_to_device"
};

/// From `first_step` on, `ranks` ranks ran.
struct Segment {
  std::int64_t first_step = 0;
  std::int64_t ranks = 0;
};

/// Named columns of equal length.
struct Table {
  std::map<std::string, std::vector<std::string>> text;
  std::map<std::string, std::vector<std::int64_t>> integers;
  std::map<std::string, std::vector<double>> reals;
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
