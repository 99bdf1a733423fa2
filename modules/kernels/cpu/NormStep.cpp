#include "kernels/cpu/NormStep.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace multicard {
namespace {

at::Tensor doubles(std::int64_t count) {
  return at::empty({count}, at::TensorOptions().dtype(at::kDouble));
}

// Sums of counts and powers, in double: enough for float32 data and, up to |mean| / deviation of 1e3, for float64.
ChannelMoments over_replicas(const ChannelMoments& own, StatisticsReducer& reducer) {
  const auto channels = static_cast<std::int64_t>(own.mean.size());
  at::Tensor flat = doubles(1 + 2 * channels);
  double* values = flat.mutable_data_ptr<double>();
  values[0] = own.count;
  for (std::int64_t c = 0; c < channels; ++c) {
    values[1 + c] = own.count * own.mean[c];
    values[1 + channels + c] = own.deviation_squares[c] + own.count * own.mean[c] * own.mean[c];
  }
  reducer.all_reduce(flat);
  ChannelMoments all(channels);
  all.count = values[0];
  for (std::int64_t c = 0; c < channels; ++c) {
    all.mean[c] = values[1 + c] / std::max(1.0, all.count);
    all.deviation_squares[c] = std::max(0.0, values[1 + channels + c] - all.count * all.mean[c] * all.mean[c]);
  }
  return all;
}

template <typename T>
void move_running(const ChannelMoments& moments, const NormTensors& norm) {
  T* mean = norm.running_mean.mutable_data_ptr<T>();
  T* variance = norm.running_var.mutable_data_ptr<T>();
  for (std::size_t c = 0; c < moments.mean.size(); ++c) {
    // As PyTorch: normalised with the biased variance, tracked with the unbiased one.
    const double unbiased = moments.deviation_squares[c] / (moments.count - 1.0);
    mean[c] = static_cast<T>((1.0 - kNormMomentum) * mean[c] + kNormMomentum * moments.mean[c]);
    variance[c] = static_cast<T>((1.0 - kNormMomentum) * variance[c] + kNormMomentum * unbiased);
  }
  norm.count_batch();
}

void track(const ChannelMoments& moments, const NormTensors& norm) {
  if (moments.count < 2) return;
  if (norm.running_mean.scalar_type() == at::kDouble)
    move_running<double>(moments, norm);
  else
    move_running<float>(moments, norm);
}

}  // namespace

void ChannelMoments::join(double other_count, const double* other_mean, const double* other_squares) {
  if (other_count == 0) return;
  // With n, m values of means a, b: the mean of all is a + (b - a) m / (n + m), and the squares grow by
  // (b - a)^2 n m / (n + m). Nothing large is subtracted from something large, as with sums of squares.
  const double total = count + other_count, share = other_count / total;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const double difference = other_mean[c] - mean[c];
    mean[c] += difference * share;
    deviation_squares[c] += other_squares[c] + difference * difference * count * share;
  }
  count = total;
}

void GradientSums::add(const GradientSums& other) {
  for (std::size_t c = 0; c < g.size(); ++c) {
    g[c] += other.g[c];
    g_deviation[c] += other.g_deviation[c];
  }
}

NormStatistics NormStatistics::of_batch(const ChannelMoments& own, const NormTensors& norm,
                                        StatisticsReducer* reducer) {
  const ChannelMoments moments = reducer ? over_replicas(own, *reducer) : own;
  track(moments, norm);
  const std::size_t channels = moments.mean.size();
  NormStatistics result(doubles(static_cast<std::int64_t>(1 + 2 * channels)));
  double* values = result.values_.mutable_data_ptr<double>();
  values[0] = std::max(1.0, moments.count);
  for (std::size_t c = 0; c < channels; ++c) {
    values[1 + c] = moments.mean[c];
    values[1 + channels + c] = 1.0 / std::sqrt(moments.deviation_squares[c] / values[0] + kNormEpsilon);
  }
  return result;
}

NormStatistics NormStatistics::running(const NormTensors& norm) {
  const std::int64_t channels = norm.running_mean.numel();
  const at::Tensor mean = norm.running_mean.to(at::kDouble), variance = norm.running_var.to(at::kDouble);
  const double *means = mean.const_data_ptr<double>(), *variances = variance.const_data_ptr<double>();
  NormStatistics result(doubles(1 + 2 * channels));
  double* values = result.values_.mutable_data_ptr<double>();
  values[0] = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    values[1 + c] = means[c];
    values[1 + channels + c] = 1.0 / std::sqrt(variances[c] + kNormEpsilon);
  }
  return result;
}

template <typename T>
NormCoefficients<T>::NormCoefficients(const NormStatistics& statistics, const at::Tensor& weight,
                                      const at::Tensor& norm_bias, Activation act)
    : scale(statistics.channels()), mean(statistics.channels()), bias(statistics.channels()), activation(act) {
  const T *weights = weight.const_data_ptr<T>(), *biases = norm_bias.const_data_ptr<T>();
  const double *means = statistics.mean(), *inverse_deviation = statistics.inverse_deviation();
  for (std::size_t c = 0; c < scale.size(); ++c) {
    scale[c] = static_cast<T>(inverse_deviation[c] * weights[c]);
    mean[c] = static_cast<T>(means[c]);
    bias[c] = biases[c];
  }
}

template <typename T>
NormGradient<T>::NormGradient(const GradientSums& sums, const NormStatistics& statistics, const at::Tensor& norm_weight,
                              StatisticsReducer* reducer)
    : scale(statistics.channels()),
      slope(statistics.channels()),
      offset(statistics.channels()),
      mean(statistics.channels()),
      weight(at::empty_like(norm_weight)),
      bias(at::empty_like(norm_weight)) {
  // With f = weight / deviation and d = x - mean: dx = f (g - mean(g) - d / deviation^2 mean(g d)), so that scale = f,
  // slope = -f / deviation^2 mean(g d), offset = -f mean(g). The means are over the values of all replicas; with
  // running statistics both are left out. The gradients of weight and bias are this replica's: they are all-reduced
  // with all others.
  const std::size_t channels = scale.size();
  const double *mean_values = statistics.mean(), *inverse_deviation = statistics.inverse_deviation();
  at::Tensor flat = doubles(static_cast<std::int64_t>(2 * channels));
  double* means = flat.mutable_data_ptr<double>();
  const T* weights = norm_weight.const_data_ptr<T>();
  T *dweight = weight.mutable_data_ptr<T>(), *dbias = bias.mutable_data_ptr<T>();
  for (std::size_t c = 0; c < channels; ++c) {
    dweight[c] = static_cast<T>(sums.g_deviation[c] * inverse_deviation[c]);
    dbias[c] = static_cast<T>(sums.g[c]);
    means[c] = sums.g[c];
    means[channels + c] = sums.g_deviation[c];
  }
  if (statistics.follows_batch() && reducer) reducer->all_reduce(flat);
  const double share = statistics.follows_batch() ? 1.0 / statistics.count() : 0.0;
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = inverse_deviation[c] * weights[c];
    const double per_value = -factor * inverse_deviation[c] * inverse_deviation[c] * means[channels + c] * share;
    scale[c] = static_cast<T>(factor);
    slope[c] = static_cast<T>(per_value);
    offset[c] = static_cast<T>(-factor * means[c] * share);
    mean[c] = static_cast<T>(mean_values[c]);
  }
}

template struct NormCoefficients<float>;
template struct NormCoefficients<double>;
template struct NormGradient<float>;
template struct NormGradient<double>;

}  // namespace multicard
