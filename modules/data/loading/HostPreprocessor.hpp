#pragma once
/// \file Preprocessing into tensors on the CPU.

#include <array>
#include <cstdint>
#include <span>
#include <variant>

#include <ATen/core/Tensor.h>

#include "data/loading/Preprocessor.hpp"

namespace multicard {

/// The rows of an int32 tensor [n, 5]; none of an undefined one.
std::span<const ImageWindow> windows_of(const at::Tensor& windows);

/// Preprocessor<float> or Preprocessor<double>, as the element type says. Any thread.
class HostPreprocessor {
 public:
  /// `type` is kFloat or kDouble. \throws as Preprocessor.
  HostPreprocessor(const PreprocessOptions& options, at::ScalarType type);

  /// A batch [num_images, 3, size, size] in the layout of the options, uninitialised.
  at::IntArrayRef strides() const { return strides_; }
  /// Makes images[first, first + count) of a tensor with strides(). `pixels` and `windows` are those of the whole
  /// batch; no windows: whole images.
  void run(const std::uint8_t* pixels, std::span<const ImageWindow> windows, std::int64_t first, std::int64_t count,
           const at::Tensor& images) const;

 private:
  std::int64_t bytes_per_image_;
  std::array<std::int64_t, 4> strides_;
  std::variant<Preprocessor<float>, Preprocessor<double>> preprocessor_;
};

}  // namespace multicard
