#include "data/loading/BatchPool.hpp"

#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace multicard {

BatchPool::BatchPool(std::int64_t num_values, at::ScalarType type, HostMemory memory)
    : num_values_(num_values), options_(at::TensorOptions(type).pinned_memory(memory == HostMemory::pinned)) {}

at::Tensor BatchPool::take(at::IntArrayRef sizes, at::IntArrayRef strides) {
  at::Tensor piece;
  {
    const std::lock_guard lock(shelf_->mutex);
    if (!shelf_->free.empty()) {
      piece = std::move(shelf_->free.back());
      shelf_->free.pop_back();
    }
  }
  // Outside the lock: allocating pinned memory is slow.
  if (!piece.defined()) piece = at::empty({num_values_}, options_);
  // The closure owns a reference to the piece and to the shelf: a tensor may outlive the pool, and a piece is only
  // offered again once the last view of it is gone, whichever thread that is on.
  const auto give_back = [shelf = shelf_, piece](void*) {
    const std::lock_guard lock(shelf->mutex);
    shelf->free.push_back(piece);
  };
  return at::from_blob(piece.data_ptr(), sizes, strides, give_back, at::TensorOptions(piece.scalar_type()));
}

}  // namespace multicard
