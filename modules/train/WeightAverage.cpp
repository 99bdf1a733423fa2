#include "train/WeightAverage.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>

namespace multicard {

namespace {

void copy(const NamedTensors& from, const NamedTensors& to) {
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i].tensor.detach().copy_(from[i].tensor);
}

}  // namespace

WeightAverage::WeightAverage(NamedTensors model, double decay) : model_(std::move(model)), decay_(decay) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : model_) {
    const at::Tensor value = entry.tensor.detach(), average = value.clone();
    average_.push_back({entry.name, average});
    (value.is_floating_point() ? averaged_ : copied_).push_back(average);
    (value.is_floating_point() ? values_ : originals_).push_back(value);
  }
}

void WeightAverage::update() {
  const at::NoGradGuard no_grad;
  at::_foreach_lerp_(averaged_, values_, 1 - decay_);
  for (std::size_t i = 0; i < copied_.size(); ++i)
    copied_[i].copy_(originals_[i]);
}

WeightAverage::InUse::InUse(WeightAverage& average) : average_(average) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : average.model_)
    own_.push_back(entry.tensor.detach().clone());
  copy(average.average_, average.model_);
}

WeightAverage::InUse::~InUse() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < own_.size(); ++i)
    average_.model_[i].tensor.detach().copy_(own_[i]);
}

}  // namespace multicard
