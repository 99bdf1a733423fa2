#pragma once
/// \file Many tensors from host memory to a device.

#include <array>
#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

namespace multicard {

/// Copies tensors from ordinary host memory to a GPU through two pieces of page-locked memory: one is filled while the
/// other is on its way, and the host waits for no single tensor. By itself a copy from memory that is not page-locked
/// makes the host wait until it has arrived. On other devices it just copies.
///
///     StagedCopies copies;
///     for (...) copies.copy(there, here);
///     copies.finish();
class StagedCopies {
 public:
  /// Elements are converted to the type of `to`, which must have the sizes of `from`; its strides may differ.
  void copy(const at::Tensor& to, const at::Tensor& from);
  /// Waits until everything has arrived. A destructor without it gives up the memory only when the copies are done too.
  void finish();

  StagedCopies() = default;
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

 private:
  struct Piece {
    at::Tensor memory;               ///< bytes
    std::optional<c10::Event> done;  ///< after the copies out of it
  };

  /// `bytes` of the piece in use, or of the other one when it is full.
  void* place_for(std::int64_t bytes, at::Device device);
  void copy_part(const at::Tensor& to, const at::Tensor& from);

  std::array<Piece, 2> pieces_;
  at::Device device_ = at::kCPU;  ///< of the newest copy; all go to one
  std::size_t piece_ = 0;
  std::int64_t used_ = 0;
};

}  // namespace multicard
