#pragma once
/// \file The task that a deck names.

#include <memory>

#include "comm/Communicator.hpp"
#include "kernels/StatisticsReducer.hpp"
#include "tasks/interface/Task.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// Collective: opens the data that the deck names and builds the model on `device`, or takes `model`, one of the same
/// deck and device, where a rank has it already. The data is not scanned where all ranks have `scan`, one of the same
/// deck. `statistics` (may be null) synchronises batch norm and must outlive the task.
std::unique_ptr<Task> make_task(const RunOptions& options, const Communicator& communicator, at::Device device,
                                StatisticsReducer* statistics, const std::shared_ptr<Model>& model = nullptr,
                                const TaskScan& scan = {});

}  // namespace multicard
