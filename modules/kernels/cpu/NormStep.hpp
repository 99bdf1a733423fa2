#pragma once
/// \file The per-channel arithmetic of batch normalisation on the CPU, in double.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/NormContext.hpp"
#include "kernels/cpu/RowKernels.hpp"

namespace multicard {

/// Number of values, mean and sum of squared deviations of each channel.
struct ChannelMoments {
  explicit ChannelMoments(std::int64_t channels) : mean(channels), deviation_squares(channels) {}

  /// Joins `other_count` values with these moments (Chan, Golub and LeVeque 1979).
  void join(double other_count, const double* other_mean, const double* other_squares);
  void join(const ChannelMoments& other) { join(other.count, other.mean.data(), other.deviation_squares.data()); }

  double count = 0;
  std::vector<double> mean, deviation_squares;
};

/// With g the gradient after the activation: the sums of g and of g * (x - mean) of each channel.
struct GradientSums {
  explicit GradientSums(std::int64_t channels) : g(channels), g_deviation(channels) {}
  void add(const GradientSums& other);

  std::vector<double> g, g_deviation;
};

/// What the backward pass of a convolution computes: the gradient of its weight, of its input, or both.
enum class Gradients { of_weight, of_input, both };

/// The statistics one forward pass normalised with; a copy lies in a tensor that autograd can keep.
class NormStatistics {
 public:
  /// From this batch, over all replicas if there is a reducer (then collective); moves the running statistics.
  static NormStatistics of_batch(const ChannelMoments& moments, const NormTensors& norm, StatisticsReducer* reducer);
  /// The running ones.
  static NormStatistics running(const NormTensors& norm);
  /// Whichever `context` says; `moments` are used only if context.uses_batch(). Collective if there is a reducer then.
  static NormStatistics of(const NormContext& context, const ChannelMoments& moments, const NormTensors& norm) {
    return context.uses_batch() ? of_batch(moments, norm, context.reducer) : running(norm);
  }
  explicit NormStatistics(at::Tensor saved) : values_(std::move(saved)) {}

  const at::Tensor& saved() const { return values_; }  ///< float64 [1 + 2 C]
  std::int64_t channels() const { return (values_.numel() - 1) / 2; }
  /// Values in the statistics; 0 when they do not depend on the batch.
  double count() const { return data()[0]; }
  bool follows_batch() const { return count() > 0; }
  const double* mean() const { return data() + 1; }
  const double* inverse_deviation() const { return data() + 1 + channels(); }

 private:
  const double* data() const { return values_.const_data_ptr<double>(); }
  at::Tensor values_;
};

/// What the row kernels need of one normalisation.
template <typename T>
struct NormCoefficients {
  NormCoefficients(const NormStatistics& statistics, const at::Tensor& weight, const at::Tensor& bias,
                   Activation activation);
  AffineView<T> view() const { return {scale.data(), mean.data(), bias.data(), activation}; }

  std::vector<T> scale, mean, bias;
  Activation activation;
};

/// What its backward needs, and the gradients of weight and bias.
template <typename T>
struct NormGradient {
  /// Collective if there is a reducer and the statistics are of the batch.
  NormGradient(const GradientSums& sums, const NormStatistics& statistics, const at::Tensor& norm_weight,
               StatisticsReducer* reducer);
  GradientView<T> view() const { return {scale.data(), slope.data(), offset.data(), mean.data()}; }

  std::vector<T> scale, slope, offset, mean;
  at::Tensor weight, bias;
};

}  // namespace multicard
