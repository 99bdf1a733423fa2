#pragma once
/// \file What batch normalisation works with: how it takes its statistics, and the tensors of a layer.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "base/Mode.hpp"
#include "kernels/Kernels.hpp"
#include "kernels/StatisticsReducer.hpp"

namespace multicard {

/// Whether batch normalisation learns statistics, or keeps the running ones while weight and bias are still trained.
enum class Statistics { of_batch, frozen };

/// What all normalisation layers of a network share.
struct NormContext {
  Mode mode = Mode::train;
  Statistics statistics = Statistics::of_batch;
  StatisticsReducer* reducer = nullptr;  ///< null: statistics per replica. Not owned.
  Kernels kernels = Kernels::automatic;

  bool uses_batch() const { return mode == Mode::train && statistics == Statistics::of_batch; }
};

/// Parameters and buffers of one layer, each [C] but the last.
struct NormTensors {
  at::Tensor weight, bias;               ///< trained
  at::Tensor running_mean, running_var;  ///< the latter unbiased; updated with momentum 0.1
  at::Tensor num_batches_tracked;        ///< int64, 0-dimensional, on the CPU: a device need not be asked to count

  /// Adds one to num_batches_tracked.
  void count_batch() const { *num_batches_tracked.mutable_data_ptr<std::int64_t>() += 1; }
};

inline constexpr double kNormEpsilon = 1e-5;
inline constexpr double kNormMomentum = 0.1;

}  // namespace multicard
