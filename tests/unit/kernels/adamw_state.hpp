#pragma once
// Tensors that AdamW with moments of 8 bits or of float32 trains.

#include <cmath>
#include <cstring>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "kernels/Adamw.hpp"
#include "kernels/DynamicMap.hpp"
#include "kernels/cpu/AdamwKernels.hpp"
#include "kernels/cpu/TensorValues.hpp"

namespace multicard::test {

inline AdamwStep adamw_step_number(int number) {
  const double beta1 = 0.9, beta2 = 0.99;
  AdamwStep step;
  step.factors = {static_cast<float>(beta1),
                  static_cast<float>(1 - beta1),
                  static_cast<float>(beta2),
                  static_cast<float>(1 - beta2),
                  1e-8F,
                  0.999};
  step.rates = at::tensor({1e-2 / (1 - std::pow(beta1, number)), std::sqrt(1 - std::pow(beta2, number))}, at::kDouble)
                   .to(at::kFloat);
  step.maps = at::empty({2, sizeof(DynamicMap)}, at::kByte);
  std::memcpy(step.maps[0].mutable_data_ptr(), &signed_dynamic_map(), sizeof(DynamicMap));
  std::memcpy(step.maps[1].mutable_data_ptr(), &unsigned_dynamic_map(), sizeof(DynamicMap));
  return step;
}

/// Values, and moments of zero.
struct AdamwState {
  AdamwState(std::int64_t size, at::ScalarType dtype, MomentBits bits)
      : values(at::randn({size}).to(dtype)), first(zeros(size, bits)), second(zeros(size, bits)) {}

  static Moments zeros(std::int64_t size, MomentBits bits) {
    if (bits == MomentBits::thirty_two) return {at::zeros({size}), {}};
    return {at::zeros({size}, at::kByte), at::zeros({(size + kMomentBlock - 1) / kMomentBlock})};
  }
  AdamwTensor with(const at::Tensor& gradient) const { return {values, gradient, first, second}; }
  /// Of many magnitudes, all of them finite in half precision.
  at::Tensor gradient() const {
    const at::Tensor magnitudes = at::randn(values.sizes()).mul_(2).exp_();
    return at::randn(values.sizes()).mul_(magnitudes).clamp_(-6e4, 6e4).to(values.scalar_type());
  }
  AdamwState copy() const {
    AdamwState copy = *this;
    for (at::Tensor* tensor :
         {&copy.values, &copy.first.values, &copy.first.scales, &copy.second.values, &copy.second.scales})
      if (tensor->defined()) *tensor = tensor->clone();
    return copy;
  }
  bool equals(const AdamwState& other) const {
    const auto same = [](const Moments& a, const Moments& b) {
      return a.values.equal(b.values) && (!a.are_codes() || a.scales.equal(b.scales));
    };
    return values.equal(other.values) && same(first, other.first) && same(second, other.second);
  }
  /// A step by the loops of CPUs.
  template <typename S>
  void advance(const AdamwKernels<S>& kernels, const AdamwStep& step, const at::Tensor& gradient) const {
    AdamwFactors factors = step.factors;
    factors.rate = step.rates[0].item<float>();
    factors.correction = step.rates[1].item<float>();
    const auto codes_of = [](const Moments& moments) -> MomentCodes {
      return {moments.values.mutable_data_ptr<std::uint8_t>(), moments.scales.mutable_data_ptr<float>()};
    };
    if (first.are_codes())
      kernels.with_codes(factors, values_of<S>(gradient), values.numel(), mutable_values_of<S>(values), codes_of(first),
                         codes_of(second));
    else
      kernels.with_floats(factors, values_of<S>(gradient), values.numel(), mutable_values_of<S>(values),
                          first.values.mutable_data_ptr<float>(), second.values.mutable_data_ptr<float>());
  }

  at::Tensor values;
  Moments first, second;
};

}  // namespace multicard::test
