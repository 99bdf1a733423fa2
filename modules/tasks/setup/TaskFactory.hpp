#pragma once
/// \file The task that a deck names.

#include <memory>

#include "comm/Communicator.hpp"
#include "dist/SplitParameters.hpp"
#include "kernels/StatisticsReducer.hpp"
#include "tasks/interface/Task.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// What a task is built on. Pointers, which may be null, must outlive it.
struct TaskParts {
  at::Device device;
  StatisticsReducer* statistics = nullptr;  ///< synchronises batch norm
  ShardRanks sharding = {};                 ///< weights are split over these
  std::shared_ptr<Model> model = nullptr;   ///< of the same deck and device, where a rank has it already
  TaskScan scan = {};                       ///< of the same deck; empty on all ranks: the data is scanned
};

/// Collective: opens the data that the deck names and builds the model.
std::unique_ptr<Task> make_task(const RunOptions& options, const Communicator& communicator, const TaskParts& parts);

}  // namespace multicard
