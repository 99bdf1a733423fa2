#pragma once
/// \file Measured times of steps in CSV files.

#include <map>
#include <string>
#include <vector>

#include "scheduling/model/StepPoint.hpp"

namespace multicard {

/// A table of Pollux's artifact: `placement` (a digit a node) or `num_nodes,num_replicas`, then `local_bsz,step_time`.
/// Throws DataError where the file is no such table.
std::vector<StepObservation> read_pollux_table(const std::string& path);

/// A table of Rubick's artifact: `exec_plan,placement,iter_time`, at a fixed global batch, which is `global_batch`
/// rows. Each strategy is a curve of its own; plans of three digits (data, tensor, pipeline parallelism) are the curve
/// "3d". Rows whose time is 0 could not be run and are left out. Throws DataError where the file is no such table.
std::map<std::string, std::vector<StepObservation>> read_rubick_table(const std::string& path,
                                                                      double global_batch = 64);

/// A table of ElasticFlow's artifact: steps per second at `global_batch_size` and as many GPUs as the other columns are
/// called, on nodes of 8. Fields that are empty or 0 were not measured. Throws DataError where the file is no such
/// table.
std::vector<StepObservation> read_elasticflow_table(const std::string& path);

/// Measured steps of a sweep: `ranks,global_batch,step_s` and optionally `nodes` and `accumulation`. Ranks are spread
/// evenly over nodes. Throws DataError where the file is no such table.
std::vector<StepObservation> read_sweep_table(const std::string& path);

}  // namespace multicard
