#pragma once
/// \file Batch normalisation over N, H and W with the activation or the residual that follows it.

#include <ATen/core/Tensor.h>

#include "nn/Activation.hpp"
#include "nn/StatisticsReducer.hpp"

namespace multicard {

/// Training uses the statistics of the batch and dropout; evaluation uses the running statistics.
enum class Mode { train, evaluate };

/// Whether batch normalisation learns statistics, or keeps the running ones while weight and bias are still trained.
enum class Statistics { of_batch, frozen };

/// Whose CPU kernels compute: the fastest known ones, or ATen's alone (to compare with).
enum class Kernels { automatic, aten };

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
  void count_batch() const;
};

inline constexpr double kNormEpsilon = 1e-5;
inline constexpr double kNormMomentum = 0.1;

/// act((x - mean) / sqrt(var + 1e-5) * weight + bias), of x [N, C, H, W] in either memory format, float64, float32 or
/// lower (then with float32 tensors in `norm`). Ioffe and Szegedy 2015, arXiv 1502.03167.
///
/// While context.uses_batch(), mean and biased variance come from the batch (from the batches of all replicas when
/// there is a reducer; then this is collective, in backward too) and the running statistics move; statistics over fewer
/// than two values leave them alone. Rows may be zero: with a reducer the replica joins the sums and contributes
/// nothing.
at::Tensor batch_norm_act(const at::Tensor& x, const NormTensors& norm, const NormContext& context,
                          Activation activation);

/// act(batch_norm_act() without activation + `residual`), the latter of x's shape.
at::Tensor batch_norm_add(const at::Tensor& x, const NormTensors& norm, const NormContext& context,
                          const at::Tensor& residual, Activation activation = Activation::none);

}  // namespace multicard
