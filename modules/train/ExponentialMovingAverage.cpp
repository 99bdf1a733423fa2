#include "train/ExponentialMovingAverage.hpp"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>

namespace multicard {

namespace {

void exchange_whole(const at::Tensor& one, const at::Tensor& other) {
  const at::Tensor kept = one.clone();
  one.copy_(other);
  other.copy_(kept);
}

/// A large tensor some rows at a time, so that what is kept aside is small.
void exchange(const at::Tensor& one, const at::Tensor& other) {
  constexpr std::int64_t kElements = 1 << 20;
  if (one.numel() <= kElements) return exchange_whole(one, other);
  const std::int64_t rows = std::max<std::int64_t>(1, kElements / (one.numel() / one.size(0)));
  for (std::int64_t first = 0; first < one.size(0); first += rows) {
    const std::int64_t count = std::min(rows, one.size(0) - first);
    exchange_whole(one.narrow(0, first, count), other.narrow(0, first, count));
  }
}

}  // namespace

ExponentialMovingAverage::ExponentialMovingAverage(NamedTensors model, double decay)
    : model_(std::move(model)), decay_(decay) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : model_) {
    const at::Tensor value = entry.tensor.detach(), average = value.clone();
    average_.push_back({entry.name, average});
    (value.is_floating_point() ? averaged_ : copied_).push_back(average);
    (value.is_floating_point() ? values_ : originals_).push_back(value);
  }
}

void ExponentialMovingAverage::update() {
  const at::NoGradGuard no_grad;
  // average + (1 - decay) (value - average): one multiplication less than the formula, and exact where both are equal.
  at::_foreach_lerp_(averaged_, values_, 1 - decay_);
  if (!copied_.empty()) at::_foreach_copy_(copied_, originals_);
}

void ExponentialMovingAverage::exchange_with_model() {
  const at::NoGradGuard no_grad;
  // In place, by copying: optimizers, buckets and captured graphs hold the model's memory.
  for (std::size_t i = 0; i < model_.size(); ++i)
    exchange(model_[i].tensor.detach(), average_[i].tensor);
}

ExponentialMovingAverage::Applied::Applied(ExponentialMovingAverage& average) : average_(average) {
  average_.exchange_with_model();
}

ExponentialMovingAverage::Applied::~Applied() {
  try {
    average_.exchange_with_model();
  } catch (const c10::Error&) {  // the GPU is lost, which its next operation reports too
  }
}

}  // namespace multicard
