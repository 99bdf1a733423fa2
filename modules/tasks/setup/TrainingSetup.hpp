#pragma once
/// \file What a run trains with, on the ranks of one communicator.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "comm/Communicator.hpp"
#include "dist/TensorCollectives.hpp"
#include "io/Hdf5Totals.hpp"
#include "kernels/StatisticsReducer.hpp"
#include "tasks/interface/Task.hpp"
#include "tasks/options/RunOptions.hpp"
#include "tasks/setup/RunContext.hpp"
#include "tasks/setup/ShardGroups.hpp"
#include "train/ExponentialMovingAverage.hpp"
#include "train/LossScaler.hpp"
#include "train/Schedule.hpp"
#include "train/Strategy.hpp"
#include "train/TrainingState.hpp"

namespace multicard {

/// What a rank has already, of a run that it had before on other ranks; empty: everything is built.
struct TrainingParts {
  std::shared_ptr<Model> model = nullptr;                    ///< of the same deck and device
  std::shared_ptr<TensorCollectives> collectives = nullptr;  ///< of the same communicator
  TaskScan scan = {};                                        ///< of the same deck; all ranks have it, or none
  bool is_known = false;  ///< warnings of deck, data and model were logged where the run began
};

/// The device, the data, the network, the strategy and what belongs to them, built and fitting each other. Members are
/// declared in the order in which they need each other.
struct TrainingSetup {
  /// Collective. \throws on all ranks what does not fit: deck and world, device, files, options
  TrainingSetup(const RunOptions& run_options, const Communicator& ranks, TrainingParts reused = {});
  TrainingSetup(const TrainingSetup&) = delete;
  TrainingSetup& operator=(const TrainingSetup&) = delete;

  const DeviceChoice& device() const { return context.device(); }
  DataSource& data() const { return task->data().training; }
  DataSource* test_data() const { return task->data().test; }
  Model& model() const { return *task->model(); }
  std::int64_t steps_per_epoch() const { return data().steps_per_epoch(); }
  std::int64_t num_epochs() const { return (num_steps + steps_per_epoch() - 1) / steps_per_epoch(); }
  /// Whether ranks gather its weights, to keep them for a block or until they are updated.
  bool gathers_weights() const { return shard_groups->ranks().group != nullptr; }
  /// Rows that all ranks see in the steps before `step`.
  std::int64_t rows_before(std::int64_t step) const;
  /// Rows that this rank computes on in a full step.
  std::int64_t rows_of_rank() const;
  /// What this rank reads in the whole run.
  ReadPlan read_plan() const;
  /// Where the deck leaves it to the run.
  void set_micro_batch(std::int64_t rows);
  /// "mpi" or "nccl", also on one rank, which sums nothing.
  std::string backend_name() const;

  /// Collective. Before parts() and trainer_state(); see Strategy and Task::finish_identity().
  void prepare_to_write();
  /// The tensors of a checkpoint. On ranks that do not update, the optimizer's are missing.
  CheckpointParts parts() const;
  /// What trainer.json says after `step` updates; `deck` is the resolved one. Waits for the device where losses are
  /// scaled.
  TrainerState trainer_state(std::int64_t step, const std::string& deck) const;
  /// Tensors and loss scale of a state. \throws DataError for a loss scale that is out of range, else as copy_into
  void load(const TrainingState& state);

  /// Collective. Runs `body`, which allocates what the run holds to its end. \throws on all ranks where one has too
  /// little memory
  void with_agreed_memory(const std::function<void()>& body) const;

  RunOptions options;
  Communicator communicator;
  RunContext context;
  std::shared_ptr<TensorCollectives> collectives;
  std::optional<ShardGroups> shard_groups;
  std::map<std::string, CommunicationTotals> communication_before;  ///< of collectives that are used again
  ReceivedByRank received_before;                                   ///< the same
  TotalsByKind files_before;                                        ///< what the process had read and written
  std::unique_ptr<StatisticsReducer> statistics;                    ///< null: batch norm is not synchronised
  std::unique_ptr<Task> task;
  std::int64_t global_batch, num_steps;
  std::unique_ptr<Strategy> strategy;
  std::optional<LossScaler> scaler;                 ///< fp16
  std::optional<ExponentialMovingAverage> average;  ///< run.ema_decay
  Schedule schedule;
};

}  // namespace multicard
