#include "train/ExponentialMovingAverage.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>

namespace multicard {

namespace {

void copy(const NamedTensors& from, const NamedTensors& to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i].tensor.detach().copy_(from[i].tensor);
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
  at::_foreach_lerp_(averaged_, values_, 1 - decay_);
  if (!copied_.empty()) at::_foreach_copy_(copied_, originals_);
}

ExponentialMovingAverage::Applied::Applied(ExponentialMovingAverage& average) : average_(average) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : average.model_)
    own_.push_back(entry.tensor.detach().clone());
  copy(average.average_, average.model_);
}

ExponentialMovingAverage::Applied::~Applied() {
  const at::NoGradGuard no_grad;
  try {
    for (std::size_t i = 0; i < own_.size(); ++i)
      average_.model_[i].tensor.detach().copy_(own_[i]);
  } catch (const c10::Error&) {  // the GPU is lost, which its next operation reports too
  }
}

}  // namespace multicard
