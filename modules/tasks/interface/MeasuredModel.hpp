#pragma once
/// \file What predicting the memory of a run asks of its model.

#include <cstdint>
#include <functional>
#include <optional>

#include <ATen/core/Tensor.h>

#include "data/loading/DataSource.hpp"
#include "device/AllocationTrace.hpp"

namespace multicard {

/// Bytes of weights that no gradient changes.
struct FrozenBytes {
  std::int64_t weights = 0;
  std::int64_t reference = 0;  ///< of a second network that the loss compares with

  std::int64_t total() const { return weights + reference; }
};

/// Starts backward from a loss.
using Backward = std::function<void(const at::Tensor& loss)>;

/// A model whose memory can be measured: a trainer needs nothing of it.
class MeasuredModel {
 public:
  virtual ~MeasuredModel() = default;

  /// Bytes of what is not trained.
  virtual FrozenBytes frozen() const = 0;
  /// What forward and backward over a part of a batch hold at most beyond what was there before, from measurements on
  /// the device with few and small rows, which are made once. `backward` starts from a loss; what it adds to gradients
  /// is not wanted.
  virtual StageBytes activation_bytes(const PartShape& part, const Backward& backward) = 0;
  /// The same with activation checkpointing if it is off, without if it is on; nothing for a model that has no
  /// activation checkpointing.
  virtual std::optional<StageBytes> switched_activation_bytes(const PartShape&, const Backward&) { return {}; }
  /// What an evaluation holds at most beyond what was there before while it computes a part of a batch, measured
  /// likewise; 0 for a model whose evaluation never holds more than a step.
  virtual StageBytes evaluation_bytes(const PartShape&) { return {}; }
  /// Rows that an evaluation computes at once, where the deck leaves the choice to the run.
  virtual void set_micro_batch(std::int64_t rows) = 0;

 protected:
  MeasuredModel() = default;
  MeasuredModel(const MeasuredModel&) = default;
  MeasuredModel& operator=(const MeasuredModel&) = default;
};

}  // namespace multicard
