#pragma once
/// \file Who reads, how gradients are reduced, who updates and how parameters return (docs/decks.md, Strategies).

#include <memory>
#include <optional>
#include <vector>

#include "data/loading/DataSource.hpp"
#include "device/StepClock.hpp"
#include "dist/GradientReducer.hpp"
#include "dist/TensorCollectives.hpp"
#include "state/CheckpointParts.hpp"
#include "train/LossScaler.hpp"
#include "train/Model.hpp"
#include "train/Optimizer.hpp"
#include "train/ParallelOptions.hpp"
#include "train/StepStatus.hpp"

namespace multicard {

/// What a strategy trains, with what, on which ranks. All must outlive it.
struct StrategyParts {
  Model& model;
  DataSource& data;
  TensorCollectives& collectives;
};

/// Data parallelism over the ranks of one set of collectives. It owns the gradients and the optimizer. One step:
///
///     Batch batch = strategy.next(clock);
///     strategy.begin_step(step, scaler);
///     strategy.backward(loss, is_last);           // each micro-batch
///     strategy.finish_gradients();
///     strategy.prepare_update(scaler, status);    // from here on a step can still be left out
///     strategy.apply_update(learning_rate);
///     strategy.share_parameters();
class Strategy {
 public:
  virtual ~Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  /// Collective. Gives all ranks the parameters and buffers of rank 0; before the first step.
  void synchronise();

  /// What this rank reads of each global batch.
  virtual Reading reading() const = 0;
  /// Starts reading ahead for the steps [first_step, last_step).
  virtual void start_reading(std::int64_t first_step, std::int64_t last_step);
  /// Collective. This rank's rows of the next batch on the compute device, ready for the network. Enters the phases
  /// data_wait and transfer.
  virtual Batch next(StepClock& clock) = 0;
  /// The most rows that any rank trains on of a global batch.
  std::int64_t largest_shard(std::int64_t global_rows) const;

  /// Prepares the model for `step` and clears the gradients before its first micro-batch. \param scaler of its loss
  void begin_step(std::int64_t step, const LossScaler* scaler = nullptr);
  /// Backward of one micro-batch from its (scaled) loss. The reduction of a bucket may start as soon as the last
  /// micro-batch has filled it.
  void backward(const at::Tensor& loss, bool is_last);
  /// Collective. Waits until the gradients are the sums over all ranks, on the ranks that update.
  void finish_gradients();

  /// On ranks that update: takes the loss scale (null: there is none) out of the gradients and clips them. Rank 0 puts
  /// their norm before clipping, and whether a value was not finite, into `status`.
  void prepare_update(const LossScaler* scaler, const StepStatus& status);
  /// On ranks that update: changes the parameters, unless prepare_update() found values that were not finite.
  void apply_update(double learning_rate);
  /// Collective. After an update: all ranks have the same parameters.
  virtual void share_parameters() = 0;
  /// Collective. Rank 0's running statistics are the model's: gives them to all ranks.
  void share_buffers();
  /// Collective. Starts to sum `status` over all ranks.
  std::unique_ptr<Work> start_all_reduce(const StepStatus& status) {
    return parts_.collectives.start_small_all_reduce(status.values());
  }

  /// Collective. Other buckets and another communication dtype of gradients from the next step on.
  void set_exchange(const ExchangeSetting& setting) { reducer_.set(setting); }

  /// The gradients of parameters that this rank holds whole, in the order of the model's parameters.
  const std::vector<at::Tensor>& gradients() const { return gradients_; }
  /// Whether this rank changes the parameters, and so has an optimizer.
  virtual bool updates() const { return optimizer_ != nullptr; }
  /// \name For a checkpoint
  /// @{
  /// The optimizer's tensors (Optimizer::state, of whole parameters); nothing on ranks that do not update. What is
  /// split over ranks is on the meta device, but for copies of rank 0 of what cannot be written in pieces, from
  /// prepare_to_write() to release_gathered().
  virtual NamedTensors optimizer_state() const;
  /// Whether what is split is written in pieces, by all ranks; else it is gathered for each checkpoint.
  virtual bool writes_pieces() const { return false; }
  /// Of optimizer_state() and saved(), the pieces that this rank holds and writes.
  virtual std::vector<TensorPiece> state_pieces() const { return {}; }
  virtual std::vector<TensorPiece> parameter_pieces() const { return {}; }
  /// Tensors of the model. Those that are split over ranks are as in optimizer_state(), the others as they are given.
  virtual NamedTensors saved(NamedTensors model) const { return model; }
  /// Collective. Before tensors are copied to be written: spreads the error of compressed gradients
  /// (GradientReducer::spread_error), and gathers what cannot be written in pieces.
  virtual void prepare_to_write() { reducer_.spread_error(); }
  /// When what was gathered has been copied.
  virtual void release_gathered() {}
  /// @}
  /// Gives the optimizer's tensors the values of whole parameters' ones. On ranks that update.
  virtual void load_optimizer_state(const NamedTensors& state);
  /// Gives tensors of the model the values of whole ones.
  void load_parameters(const NamedTensors& model, const NamedTensors& state);
  /// Bytes that this rank holds of the optimizer's tensors.
  std::int64_t optimizer_bytes() const;
  /// What compressed gradients carry from step to step, the tensors themselves: error.NAME, q.NAME.
  NamedTensors compression_state() const;
  std::size_t num_buckets() const { return reducer_.num_buckets(); }

 protected:
  enum class Updates { yes, no };

  Strategy(const StrategyParts& parts, const GradientReducer::Options& reduction, const OptimizerOptions& optimizer,
           Updates updates);
  /// For a strategy whose optimizer updates something else than whole parameters. \param optimizer null: nothing here
  void update_with(std::unique_ptr<Optimizer> optimizer) { optimizer_ = std::move(optimizer); }
  /// The norm of all gradients, 0-dim float64, from those that this rank updates with: the same on all ranks that
  /// update, as what they found in them is then. \param norms one dimension; undefined where it updates nothing
  /// \param found_inf undefined without scaling
  virtual at::Tensor combined(const at::Tensor& norms, at::Tensor& found_inf) const;
  const ParameterGroups& groups() const { return groups_; }
  /// Those of the groups that are whole on each rank, and so are the reducer's.
  const std::vector<at::Tensor>& whole_parameters() const { return whole_; }
  const GradientReducer& reducer() const { return reducer_; }
  const Optimizer* optimizer() const { return optimizer_.get(); }
  /// Collective.
  void broadcast_parameters();
  const StrategyParts& parts() const { return parts_; }

 private:
  StrategyParts parts_;
  ParameterGroups groups_;
  std::vector<at::Tensor> whole_;
  GradientReducer reducer_;
  std::vector<at::Tensor> gradients_;
  std::unique_ptr<Optimizer> optimizer_;  ///< null where this rank does not update
  std::optional<double> clip_norm_;
  at::Tensor found_inf_;  ///< of this rank's gradients; undefined without scaling
};

/// Whether updates may be left out, because losses are scaled.
enum class SkipsSteps { no, yes };

/// Allocates gradients and optimizer state; those of CPU ranks are shared memory, which the ranks of a node allocate
/// together. A rank that has too little memory throws, and the others can be told of it: Strategy::synchronise(), which
/// exchanges values, follows.
std::unique_ptr<Strategy> make_strategy(const ParallelOptions& options, const OptimizerOptions& optimizer,
                                        const StrategyParts& parts, SkipsSteps skips = SkipsSteps::no);

}  // namespace multicard
