#include "train/HostSnapshot.hpp"

#include <algorithm>
#include <unordered_set>

#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "device/CurrentStream.hpp"
#include "device/HostMemory.hpp"

namespace multicard {

namespace {

/// Every copy starts on a line of its own, which suits any type.
constexpr std::int64_t kAlignment = 64;

bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

std::int64_t bytes_for(const at::Tensor& tensor) {
  // By strides, as copies keep them: a copy is then one transfer of memory, whatever the layout.
  const auto bytes = static_cast<std::int64_t>(
      at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size()));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Those that have memory, in a fixed order.
std::vector<at::Tensor> tensors_with_memory(const CheckpointParts& parts) {
  std::vector<at::Tensor> tensors;
  for (const CheckpointPart& part : parts) {
    for (const NamedTensor& entry : part.tensors)
      if (!entry.tensor.is_meta()) tensors.push_back(entry.tensor);
    for (const TensorPiece& piece : part.pieces)
      tensors.push_back(piece.values);
  }
  return tensors;
}

bool same_entry(const NamedTensor& a, const NamedTensor& b) {
  return a.name == b.name && a.tensor.is_meta() == b.tensor.is_meta() && same_layout(a.tensor, b.tensor);
}

bool same_piece(const TensorPiece& a, const TensorPiece& b) {
  return a.name == b.name && a.first == b.first && same_layout(a.values, b.values);
}

bool same_part(const CheckpointPart& a, const CheckpointPart& b) {
  return a.file == b.file &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), same_entry) &&
         std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(), same_piece);
}

}  // namespace

bool HostSnapshot::fits(const CheckpointParts& parts) const {
  return std::equal(parts.begin(), parts.end(), copies_.begin(), copies_.end(), same_part);
}

void HostSnapshot::prepare(const CheckpointParts& parts) {
  copies_.clear();
  std::int64_t bytes = 0;
  at::Device device = at::kCPU;
  for (const at::Tensor& tensor : tensors_with_memory(parts)) {
    bytes += bytes_for(tensor);
    if (tensor.is_cuda()) device = tensor.device();
  }
  memory_.reset();  // never two at a time
  // One block for all: locking pages is slow, and is paid once.
  memory_ = make_host_memory(bytes, device);
  auto* place = static_cast<std::byte*>(memory_.data_ptr());
  const auto copy_of = [&](const at::Tensor& tensor) {
    const auto keep = [memory = memory_](void*) {};
    at::Tensor copy = at::from_blob(place, tensor.sizes(), tensor.strides(), keep, tensor.scalar_type());
    place += bytes_for(tensor);
    return copy;
  };
  copies_ = parts;
  for (CheckpointPart& part : copies_) {
    for (auto& [name, tensor] : part.tensors)
      if (!tensor.is_meta()) tensor = copy_of(tensor);
    for (TensorPiece& piece : part.pieces)
      piece.values = copy_of(piece.values);
  }
}

c10::Stream HostSnapshot::copy_stream(at::Device device) {
  const c10::impl::VirtualGuardImpl gpu(device.type());
  if (!stream_) stream_ = gpu.getStreamFromGlobalPool(device);
  c10::Event ready(device.type());
  // The copies come after the update that is queued already; what is queued from now on runs next to them.
  ready.record(current_stream(device));
  ready.block(*stream_);
  return *stream_;
}

void HostSnapshot::take(const CheckpointParts& parts, const std::vector<at::Tensor>& at_once) {
  const at::NoGradGuard no_grad;
  if (!fits(parts)) prepare(parts);
  // Two streams. What changes in the next forward (running statistics) is copied on the compute stream, whose later
  // work comes after it by itself. All else changes only with the next update: it is copied on a stream of its own, and
  // let_change() makes the compute stream wait for that right before the update.
  std::unordered_set<const void*> changing;
  for (const at::Tensor& tensor : at_once)
    changing.insert(tensor.const_data_ptr());
  const std::vector<at::Tensor> sources = tensors_with_memory(parts), copies = tensors_with_memory(copies_);
  std::optional<at::Device> device;
  const auto waits = [&](const at::Tensor& tensor) {
    return tensor.is_cuda() && !changing.contains(tensor.const_data_ptr());
  };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].is_cuda()) device = sources[i].device();
    if (!waits(sources[i])) copies[i].copy_(sources[i], /*non_blocking=*/true);
  }
  // The event before belongs to copies that are long done: take() is called only when they have been written.
  copied_.reset();
  holds_ = false;
  if (!device) return;
  const c10::StreamGuard guard(copy_stream(*device));
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (waits(sources[i])) copies[i].copy_(sources[i], /*non_blocking=*/true);
  copied_.emplace(device->type());
  copied_->record(*stream_);
  holds_ = true;
}

void HostSnapshot::let_change() {
  if (!holds_) return;
  copied_->block(current_stream(stream_->device()));
  holds_ = false;
}

const CheckpointParts& HostSnapshot::wait() {
  if (copied_) {
    // Called by the thread that writes, whose current device is another at first.
    const c10::DeviceGuard guard(stream_->device());
    copied_->synchronize();
  }
  return copies_;
}

}  // namespace multicard
