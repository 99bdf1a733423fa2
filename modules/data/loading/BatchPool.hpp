#pragma once
/// \file Host memory that is used again.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

enum class HostMemory { pageable, pinned };

/// Equal pieces of host memory. A piece comes back once the last tensor that shares it is gone, so that a steady stream
/// of batches faults in no new pages. Any thread; tensors may outlive the pool.
class BatchPool {
 public:
  BatchPool(std::int64_t num_values, at::ScalarType type, HostMemory memory);

  /// A tensor over the first values of a piece, uninitialised.
  at::Tensor take(at::IntArrayRef sizes, at::IntArrayRef strides);

 private:
  struct Shelf {
    std::mutex mutex;
    std::vector<at::Tensor> free;
  };

  std::int64_t num_values_;
  at::TensorOptions options_;
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

}  // namespace multicard
