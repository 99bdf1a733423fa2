#pragma once
/// \file From stored bytes to the network's input, on the compute device.

#include <cstdint>
#include <variant>

#include <ATen/core/Tensor.h>

#include "data/loading/HostPreprocessor.hpp"
#include "data/loading/TensorPreprocessor.hpp"

namespace multicard {

/// The second half of the device pipeline: what Preprocessor does, with the same bits, to batches that lie on the
/// compute device as bytes. On the CPU the calling thread and its helpers (at::parallel_for) run Preprocessor itself;
/// on a GPU about thirty operations are enqueued on the current stream and nothing waits for them.
class DevicePreprocessor {
 public:
  /// `type` is kFloat or kDouble. \throws as Preprocessor.
  DevicePreprocessor(const PreprocessOptions& options, at::ScalarType type, at::Device device);

  /// `bytes` uint8 [n, H, W, C], contiguous -> [n, 3, size, size] of the type and layout asked for. `windows` int32
  /// [n, 5], a row an ImageWindow; undefined: whole images. n may be 0.
  at::Tensor run(const at::Tensor& bytes, const at::Tensor& windows) const;
  /// The most device memory that run() takes for a row, its result included and its arguments not.
  std::int64_t bytes_per_row() const;

 private:
  at::Tensor run_on_host(const HostPreprocessor& preprocessor, const at::Tensor& bytes,
                         const at::Tensor& windows) const;

  std::int64_t size_;
  at::ScalarType type_;
  std::variant<HostPreprocessor, TensorPreprocessor> preprocessor_;
};

}  // namespace multicard
