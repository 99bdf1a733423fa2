#pragma once
/// \file Tensors that have memory only for as long as it is lent to them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// The next multiple.
constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

/// The memory of some tensors, seen as one row of bytes: each storage begins at a multiple of kAlignment, whatever
/// tensors share it. Tensors, views of them and what autograd has saved follow when the memory is lent and taken back;
/// versions do not change. A tensor without memory must not be computed with: what reads it throws, or crashes.
class BorrowedMemory {
 public:
  /// Of parts and of what lies in them: 256 elements of any type, as kernels like it, and blocks of 8-bit moments.
  static constexpr std::size_t kAlignment = 2048;

  /// They keep the memory that they have until it is taken. \param alignment a multiple of kAlignment, in its place
  explicit BorrowedMemory(const std::vector<at::Tensor>& tensors, std::size_t alignment = kAlignment);

  /// A multiple of the alignment.
  std::size_t bytes() const { return bytes_; }
  /// Without what is between storages.
  std::int64_t contents() const;
  /// Where a tensor begins, which is one of these or shares memory with one; nothing for another.
  std::optional<std::size_t> offset_of(const at::Tensor& tensor) const;
  /// Lets the tensors be in `row`, which must stay, and hold what they are to hold.
  void lend(const at::Tensor& row) const;
  /// The tensors have no memory; that which was their own is freed.
  void take() const;

 private:
  struct Piece {
    c10::Storage storage;
    std::size_t first, bytes;
  };
  std::vector<Piece> pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace multicard
