#include "device/StagedCopies.hpp"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include "device/CurrentStream.hpp"
#include "device/HostMemory.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kPiece = std::int64_t{16} << 20;
constexpr std::int64_t kAlignment = 64;

}  // namespace

StagedCopies::~StagedCopies() {
  try {
    finish();
  } catch (const std::exception&) {  // of a device that failed, which its next call reports
  }
}

void StagedCopies::copy(const at::Tensor& to, const at::Tensor& from) {
  const at::NoGradGuard no_grad;
  const bool is_staged = to.is_cuda() && from.is_cpu() && to.is_non_overlapping_and_dense();
  const auto bytes = static_cast<std::int64_t>(to.nbytes());
  // A large tensor is staged in parts of its memory, which only correspond where both are contiguous.
  if (!is_staged || (bytes > kPiece && !(to.is_contiguous() && from.is_contiguous()))) {
    to.copy_(from);
    return;
  }
  if (bytes <= kPiece) return copy_part(to, from);
  const at::Tensor flat_to = to.view({-1}), flat_from = from.view({-1});
  const std::int64_t most = kPiece / static_cast<std::int64_t>(to.element_size());
  for (std::int64_t first = 0; first < flat_to.numel(); first += most) {
    const std::int64_t count = std::min(most, flat_to.numel() - first);
    copy_part(flat_to.narrow(0, first, count), flat_from.narrow(0, first, count));
  }
}

void StagedCopies::copy_part(const at::Tensor& to, const at::Tensor& from) {
  if (to.numel() == 0) return;
  void* const place = place_for(static_cast<std::int64_t>(to.nbytes()), to.device());
  // Type and strides of the target: the host converts, and what is left for the device is one copy of bytes.
  const at::Tensor staged = at::from_blob(place, to.sizes(), to.strides(), to.options().device(at::kCPU));
  staged.copy_(from);
  to.copy_(staged, /*non_blocking=*/true);
}

void* StagedCopies::place_for(std::int64_t bytes, at::Device device) {
  device_ = device;
  // Two pieces in turn: before one is filled again, the copies out of it must have passed. Each records its event when
  // it is full, so the host waits for copies that began a whole piece earlier.
  if (used_ + bytes > kPiece) {
    Piece& full = pieces_[piece_];
    full.done.emplace(device.type());
    full.done->record(current_stream(device));
    piece_ = 1 - piece_;
    used_ = 0;
    if (pieces_[piece_].done) pieces_[piece_].done->synchronize();
  }
  Piece& piece = pieces_[piece_];
  if (!piece.memory.defined()) piece.memory = make_host_memory(kPiece, device);
  auto* const place = static_cast<std::byte*>(piece.memory.data_ptr()) + used_;
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

void StagedCopies::finish() {
  if (used_ == 0) return;
  used_ = 0;
  pieces_[piece_].done.emplace(device_.type());
  pieces_[piece_].done->record(current_stream(device_));  // after those of the other piece too
  pieces_[piece_].done->synchronize();
}

}  // namespace multicard
