#pragma once
/// \file Preprocessing by tensor operations, for any device.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "data/loading/Preprocessor.hpp"

namespace multicard {

/// Preprocessor's arithmetic as tensor operations in the same order: every product and every sum is rounded by itself,
/// so that the results have the same bits on every device. Nothing depends on values the host would have to wait for.
class TensorPreprocessor {
 public:
  /// `type` is kFloat or kDouble. \throws as Preprocessor.
  TensorPreprocessor(const PreprocessOptions& options, at::ScalarType type, at::Device device);

  /// See DevicePreprocessor.
  at::Tensor run(const at::Tensor& bytes, const at::Tensor& windows) const;
  std::int64_t bytes_per_row() const;

 private:
  /// Where output rows (index 0) and columns (index 1) lie between stored ones: [n, 2, size], or [1, 2, size] for all
  /// images alike.
  struct Taps {
    at::Tensor low, high;  ///< int64
    at::Tensor low_weight, high_weight;
  };
  enum class Axis { rows, columns };

  Taps taps(const at::Tensor& windows) const;
  at::Tensor normalised(const at::Tensor& bytes) const;
  at::Tensor stretched(const at::Tensor& values, const Taps& taps, Axis axis) const;

  PreprocessOptions options_;
  at::ScalarType type_;
  at::Tensor table_;           ///< [3 * 256]: the value of every byte, per output channel
  at::Tensor table_starts_;    ///< int32 [3]
  at::Tensor size_;            ///< [1]: by a tensor it is a division on every device, by a number a product on some
  at::Tensor centres_;         ///< [size]: i + 0.5
  at::Tensor mirrored_steps_;  ///< [2, size]: what mirroring adds to the centres of rows (0) and columns
  Taps whole_;                 ///< of an image that is not cropped
};

}  // namespace multicard
