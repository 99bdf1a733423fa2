#pragma once
/// \file One training run from its deck to its record, on the ranks of one communicator.

#include <memory>
#include <optional>
#include <string>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"
#include "comm/StopMonitor.hpp"
#include "comm/Topology.hpp"
#include "config/RunOptions.hpp"
#include "device/Device.hpp"
#include "dist/TensorCollectives.hpp"
#include "results/Columns.hpp"
#include "tasks/MemoryNeed.hpp"
#include "tasks/Task.hpp"
#include "train/CheckpointWriter.hpp"
#include "train/History.hpp"
#include "train/Progress.hpp"
#include "train/Trainer.hpp"

namespace multicard {

/// What a run leaves behind. With `failure` the record holds the steps up to it.
struct SessionResult {
  RunSummary summary;
  RankRecord record;  ///< of this rank, since this session began
  RankRows rows;      ///< the whole run's rows that this rank holds, from its first step on
  WorkUnit unit{};
  std::optional<Error> failure;  ///< an error that all ranks found together
};

/// Whether a session writes lines while it trains.
enum class Voice { speak, quiet };

struct SessionOptions {
  Voice voice = Voice::speak;
  std::optional<std::string> checkpoint;  ///< the folder to continue from
  bool checkpoint_on_stop = true;         ///< also when the deck keeps none: a stopped run can be continued
};

/// A training run. Construction checks and builds everything (deck against world, device, data, network); run() trains.
/// Both are collective over the communicator. Errors that all ranks find while training end up in the result; errors of
/// one rank alone are thrown on that rank.
class Session {
 public:
  Session(const RunOptions& options, const std::string& deck_yaml, const Communicator& communicator,
          const SessionOptions& session);

  /// Collective. Logs the block that says what will run.
  void describe() const;
  /// Trains, evaluates, saves checkpoints and gathers the record. `stop` (may be null) is asked every step.
  SessionResult run(StopMonitor* stop);

  std::int64_t num_steps() const { return num_steps_; }
  const Task& task() const { return *task_; }

 private:
  void restore(const std::string& checkpoint);
  void restore_content(const std::string& checkpoint, const TrainerState& state);
  void restore_records(const std::string& checkpoint);
  void check_continues(const TrainerState& state, const std::string& checkpoint) const;
  std::int64_t rows_before(std::int64_t step) const;
  std::string backend_name() const;
  DataSource& training_data() const { return task_->data().training; }
  MemoryNeed lasting_need(std::int64_t rows);
  std::int64_t wire_bytes(int num_ranks) const;
  MemoryNeed need_for(std::int64_t rows, std::int64_t at_once);
  void check_lasting(MemoryNeed need) const;
  void check_fits(const MemoryNeed& need, std::int64_t rows, std::int64_t at_once);
  MemoryNeed predict_memory();
  void record_memory(RankRecord& record) const;
  void train(StopMonitor* stop);
  void train_or_tell_of_device(StopMonitor* stop);
  void after_step(bool epoch_ended);
  void open_feed();
  bool evaluation_due(bool epoch_ended) const;
  void make_up_evaluation();
  std::int64_t epoch() const;
  void add_train_seconds();
  void take_totals();
  void add_rates();
  void report_step();
  void evaluate_now();
  /// When the model is asked.
  enum class Moment { start, end };
  bool is_asked() const;
  void ask(Moment moment);
  void log_answers(Moment moment) const;
  Table answers_table() const;
  void add_answers(RunSummary& summary) const;
  void take_up_answers(const RunSummary& before);
  CheckpointParts checkpoint_parts() const;
  void save_checkpoint();
  void finish_checkpoints();
  void note_checkpoints();
  void add_checkpoint_stall(double seconds);
  RunSummary summarise() const;
  void complete_record();

  RunOptions options_;
  std::string deck_yaml_;
  Communicator communicator_;
  Topology topology_;
  DeviceChoice device_;
  int threads_;
  CheckpointWriter checkpoints_;
  History history_;
  std::int64_t first_step_ = 0;
  MemoryNeed memory_need_;
  std::unique_ptr<TensorCollectives> collectives_;
  std::unique_ptr<StatisticsReducer> statistics_;
  std::unique_ptr<Task> task_;
  std::int64_t global_batch_ = 0, num_steps_ = 0, num_epochs_ = 0;
  std::unique_ptr<Strategy> strategy_;
  std::optional<LossScaler> scaler_;      ///< fp16
  std::optional<WeightAverage> average_;  ///< run.ema_decay
  std::unique_ptr<Schedule> schedule_;
  StepClock clock_;
  std::unique_ptr<MetricFeed> feed_;  ///< on rank 0
  Recorder recorder_;
  Progress progress_;
  std::unique_ptr<Trainer> trainer_;
  std::size_t num_rated_ = 0;  ///< recorded steps whose rates are among the metrics
  std::int64_t last_evaluated_ = -1, last_saved_ = -1, best_step_ = -1;
  double best_score_ = 0;                                    ///< at best_step_
  std::vector<std::string> answers_before_, answers_after_;  ///< to the prompts; empty before they are asked
  std::string status_ = "complete";
  bool checkpoint_on_stop_;
  TimePoint epoch_start_{};  ///< or since add_train_seconds()
  double stalled_s_ = 0;     ///< evaluation and checkpoints since the epoch began
};

}  // namespace multicard
