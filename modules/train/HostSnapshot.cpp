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

template <typename Body>
void for_each_tensor(const CheckpointParts& parts, const Body& body) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = 0; j < parts[i].tensors.size(); ++j)
      body(parts[i].tensors[j].tensor, i, j);
}

}  // namespace

bool HostSnapshot::fits(const CheckpointParts& parts) const {
  if (parts.size() != copies_.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].file != copies_[i].file || parts[i].tensors.size() != copies_[i].tensors.size()) return false;
    for (std::size_t j = 0; j < parts[i].tensors.size(); ++j)
      if (parts[i].tensors[j].name != copies_[i].tensors[j].name ||
          !same_layout(parts[i].tensors[j].tensor, copies_[i].tensors[j].tensor))
        return false;
  }
  return true;
}

void HostSnapshot::prepare(const CheckpointParts& parts) {
  copies_.clear();
  std::int64_t bytes = 0;
  at::Device device = at::kCPU;
  for_each_tensor(parts, [&](const at::Tensor& tensor, std::size_t, std::size_t) {
    bytes += bytes_for(tensor);
    if (tensor.is_cuda()) device = tensor.device();
  });
  memory_.reset();  // never two at a time
  // One block for all: locking pages is slow, and is paid once.
  memory_ = make_host_memory(bytes, device);
  auto* place = static_cast<std::byte*>(memory_.data_ptr());
  for (const CheckpointPart& part : parts) {
    CheckpointPart& copy = copies_.emplace_back(CheckpointPart{part.file, {}});
    for (const auto& [name, tensor] : part.tensors) {
      const auto keep = [memory = memory_](void*) {};
      copy.tensors.push_back(
          {name, at::from_blob(place, tensor.sizes(), tensor.strides(), keep, tensor.scalar_type())});
      place += bytes_for(tensor);
    }
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
  std::optional<at::Device> device;
  const auto copy = [&](const at::Tensor& tensor, std::size_t i, std::size_t j) {
    copies_[i].tensors[j].tensor.copy_(tensor, /*non_blocking=*/true);
  };
  for_each_tensor(parts, [&](const at::Tensor& tensor, std::size_t i, std::size_t j) {
    if (tensor.is_cuda()) device = tensor.device();
    if (!tensor.is_cuda() || changing.contains(tensor.const_data_ptr())) copy(tensor, i, j);
  });
  // The event before belongs to copies that are long done: take() is called only when they have been written.
  copied_.reset();
  holds_ = false;
  if (!device) return;
  const c10::StreamGuard guard(copy_stream(*device));
  for_each_tensor(parts, [&](const at::Tensor& tensor, std::size_t i, std::size_t j) {
    if (tensor.is_cuda() && !changing.contains(tensor.const_data_ptr())) copy(tensor, i, j);
  });
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
