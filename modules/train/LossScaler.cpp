#include "train/LossScaler.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace multicard {

LossScaler::LossScaler(at::Device device)
    : scale_(at::full({}, kStart, at::TensorOptions().dtype(at::kFloat).device(device))),
      growth_tracker_(at::zeros({}, at::TensorOptions().dtype(at::kInt).device(device))) {}

at::Tensor LossScaler::unscale(const std::vector<at::Tensor>& gradients) const {
  const at::NoGradGuard no_grad;
  // One kernel looks and divides at once. The host never learns of the result here: the optimizer, update() and the
  // status of the step all take it from the device.
  at::Tensor found_inf = at::zeros({}, scale_.options());
  // The inverse in float64: exact for powers of two either way, and a scale never is anything else.
  const at::Tensor inverse = scale_.to(at::kDouble).reciprocal().to(at::kFloat);
  if (!gradients.empty()) at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inverse);
  return found_inf;
}

void LossScaler::update(const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  // found_inf 0: one more good update, and after kGrowthInterval of them in a row the scale doubles; else it halves,
  // and the count begins again. Powers of two, so that scaling rounds nothing.
  constexpr double kGrowth = 2, kBackoff = 0.5;
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf, kGrowth, kBackoff, kGrowthInterval);
}

void LossScaler::restore(double value, std::int64_t updates_since_change) {
  scale_.fill_(value);
  growth_tracker_.fill_(updates_since_change);
}

}  // namespace multicard
