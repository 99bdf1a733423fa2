#pragma once
/// \file Moving batches from host memory to the device while it computes.

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Copies lists of host tensors to the device, on a stream of its own when they are pinned (pageable memory is copied
/// too, without overlap). Batches come out in the order they went in. On the CPU device it hands the same tensors on.
///
///     uploader.start(next);            // while the GPU computes
///     batch = uploader.take();         // the current stream waits for the copy, the host does not
class BatchUploader {
 public:
  virtual ~BatchUploader() = default;

  /// Starts copying. The tensors are kept alive until the copy is done; undefined tensors are allowed and stay so.
  virtual void start(std::vector<at::Tensor> batch) = 0;
  /// The oldest batch started and not taken; throws std::logic_error when there is none.
  virtual std::vector<at::Tensor> take() = 0;
  /// Batches started and not taken.
  virtual std::size_t num_started() const = 0;
  /// Bytes copied to the device so far; 0 on the CPU.
  virtual std::int64_t bytes_copied() const = 0;
};

/// Throws EnvironmentError for a CUDA device in a build without CUDA.
std::unique_ptr<BatchUploader> make_batch_uploader(at::Device device);

}  // namespace multicard
