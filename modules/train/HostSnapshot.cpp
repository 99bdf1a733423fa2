#include "train/HostSnapshot.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace multicard {

namespace {

bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

at::Tensor host_buffer(const at::Tensor& tensor) {
  const auto options = at::TensorOptions().dtype(tensor.scalar_type()).pinned_memory(tensor.is_cuda());
  return at::empty_strided(tensor.sizes(), tensor.strides(), options).zero_();
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
  for (const CheckpointPart& part : parts) {
    CheckpointPart& copy = copies_.emplace_back(CheckpointPart{part.file, {}});
    for (const NamedTensor& entry : part.tensors)
      copy.tensors.push_back({entry.name, host_buffer(entry.tensor)});
  }
}

void HostSnapshot::take(const CheckpointParts& parts) {
  const at::NoGradGuard no_grad;
  if (!fits(parts)) prepare(parts);
  device_.reset();
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t j = 0; j < parts[i].tensors.size(); ++j) {
      const at::Tensor& source = parts[i].tensors[j].tensor;
      if (source.is_cuda()) device_ = source.device();
      copies_[i].tensors[j].tensor.copy_(source, /*non_blocking=*/true);
    }
  if (!device_) return;
  copied_.emplace(device_->type());
  copied_->record(c10::impl::VirtualGuardImpl(device_->type()).getStream(*device_));
}

const CheckpointParts& HostSnapshot::wait() {
  if (device_) {
    const c10::DeviceGuard guard(*device_);
    copied_->synchronize();
  }
  return copies_;
}

}  // namespace multicard
