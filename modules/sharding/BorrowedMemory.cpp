#include "sharding/BorrowedMemory.hpp"

#include <algorithm>

namespace multicard {

namespace {

/// Writes past autograd, which would take it for a change of the tensors.
void point(const c10::Storage& storage, void* memory, std::size_t bytes) {
  c10::StorageImpl* const impl = storage.unsafeGetStorageImpl();
  impl->set_data_ptr_noswap(at::DataPtr(memory, impl->device()));
  impl->set_nbytes(bytes);
}

}  // namespace

BorrowedMemory::BorrowedMemory(const std::vector<at::Tensor>& tensors, std::size_t alignment) {
  for (const at::Tensor& tensor : tensors) {
    const c10::Storage& storage = tensor.storage();
    const auto is_same = [&](const Piece& piece) {
      return piece.storage.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl();
    };
    if (std::ranges::any_of(pieces_, is_same)) continue;
    pieces_.push_back({storage, bytes_, storage.nbytes()});
    bytes_ += rounded_up(storage.nbytes(), alignment);
  }
}

std::int64_t BorrowedMemory::contents() const {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces_)
    bytes += piece.bytes;
  return static_cast<std::int64_t>(bytes);
}

std::optional<std::size_t> BorrowedMemory::offset_of(const at::Tensor& tensor) const {
  for (const Piece& piece : pieces_)
    if (piece.storage.unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl())
      return piece.first + static_cast<std::size_t>(tensor.storage_offset()) * tensor.element_size();
  return std::nullopt;
}

void BorrowedMemory::lend(const at::Tensor& row) const {
  auto* const start = static_cast<std::byte*>(row.data_ptr());
  for (const Piece& piece : pieces_)
    point(piece.storage, start + piece.first, piece.bytes);
}

void BorrowedMemory::take() const {
  for (const Piece& piece : pieces_)
    point(piece.storage, nullptr, 0);
}

}  // namespace multicard
