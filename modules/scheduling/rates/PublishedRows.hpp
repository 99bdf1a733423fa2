#pragma once
/// \file Rows of tables of step times as others publish them.

#include <cstddef>
#include <string>
#include <vector>

#include "base/CsvTable.hpp"

namespace multicard {

/// Seconds that a step takes at most.
inline constexpr double kLongestStep = 1e6;

/// Whether a table of Pollux without placements has to say how many nodes the GPUs were spread over.
enum class NodesColumn { required, optional };

/// A row of placements.csv or scalability.csv of petuum/adaptdl.
struct PolluxRow {
  int gpus = 0, nodes = 0;     ///< nodes 0: not given
  std::vector<int> placement;  ///< GPUs of each node; empty: not given
  int local_batch = 0;         ///< rows of a GPU
  double step_s = 0;
};

/// \param least_step_s 0, where that says that a step could not be run. \throws DataError that names the line
PolluxRow pollux_row(const CsvTable& table, std::size_t row, double least_step_s,
                     NodesColumn nodes = NodesColumn::required);

/// A row of a table of AlibabaPAI/reconfigurable-dl-scheduler (Rubick).
struct RubickRow {
  std::string plan;            ///< parallel strategy; empty where the table has none
  std::vector<int> placement;  ///< GPUs of each node
  int gpus = 0;
  double step_s = 0;  ///< 0: it could not be run
};

/// \throws DataError that names the line
RubickRow rubick_row(const CsvTable& table, std::size_t row);

}  // namespace multicard
