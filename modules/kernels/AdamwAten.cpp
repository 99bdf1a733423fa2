#include "kernels/AdamwAten.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bucketize.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/where.h>

#include "kernels/DynamicMap.hpp"

namespace multicard {

namespace {

const DynamicMap& map_of(Moment moment) {
  return moment == Moment::first ? signed_dynamic_map() : unsigned_dynamic_map();
}

at::Tensor table_on(at::Device device, const float* values, std::int64_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): it is only read
  return at::from_blob(const_cast<float*>(values), {size}, at::kFloat).to(device, at::kFloat, false, /*copy=*/true);
}

/// Each scale for the values of its block, [elements].
at::Tensor spread(const at::Tensor& scales, std::int64_t elements) {
  // The last block may be short, and its scale is repeated beyond the end.
  return scales.repeat_interleave(kMomentBlock).narrow(0, 0, elements);
}

/// Fills `to` with `from` where the step takes place.
void fill(const at::Tensor& to, const at::Tensor& from, const AdamwStep& step) {
  // Chosen by the device: a branch on the host would wait for found_inf.
  const at::Tensor result = from.to(to.scalar_type());
  to.copy_(step.found_inf.defined() ? at::where(step.found_inf.eq(0), result, to) : result);
}

void encode(const at::Tensor& moments, Moment moment, const Moments& to, const AdamwStep& step) {
  if (!to.are_codes()) return fill(to.values, moments, step);
  const std::int64_t elements = moments.numel(), blocks = to.scales.numel();
  const at::Tensor padded = moments.new_zeros({blocks * kMomentBlock});
  padded.narrow(0, 0, elements).copy_(moments.view(-1));
  // Zeros after the end do not change the largest magnitude of the last block.
  const at::Tensor scales = padded.view({blocks, kMomentBlock}).abs().amax(1);
  const at::Tensor bounds = table_on(moments.device(), map_of(moment).bounds, 255);
  const at::Tensor scaled = moments.view(-1).mul(spread(scales.clamp_min(kLeastMomentScale).reciprocal(), elements));
  // As many as there are bounds below the value: on a bound the lower code, as nearest_code() has it.
  fill(to.values, at::bucketize(scaled, bounds, /*out_int32=*/true).view(to.values.sizes()), step);
  fill(to.scales, scales, step);
}

/// \param first, second of the step before, in memory of their own
void advance(const at::Tensor& values, const at::Tensor& gradient, at::Tensor& first, at::Tensor& second,
             const AdamwStep& step) {
  // AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101), with t the step, r the learning rate, d the weight decay:
  // m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2,
  // w = (1 - r d) w - r / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps).
  const at::Tensor slope = gradient.to(at::kFloat);
  first.mul_(step.factors.beta1).add_(slope, step.factors.new1);
  second.mul_(step.factors.beta2).addcmul_(slope, slope, step.factors.new2);
  const at::Tensor divisor = second.sqrt().div_(step.rates.select(0, 1)).add_(step.factors.eps);
  const at::Tensor change = first.mul(step.rates.select(0, 0)).div_(divisor);
  const at::ScalarType wide = values.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  fill(values, values.to(wide).mul(step.factors.decay).sub_(change), step);
}

}  // namespace

at::Tensor decoded(const Moments& moments, Moment moment) {
  if (!moments.are_codes()) return moments.values.clone();
  const at::Tensor table = table_on(moments.values.device(), map_of(moment).values, 256);
  const at::Tensor values = table.index_select(0, moments.values.view(-1).to(at::kInt));
  return values.mul_(spread(moments.scales, values.numel())).view(moments.values.sizes());
}

void aten_adamw_step(const AdamwTensor& tensor, const AdamwStep& step) {
  at::Tensor moments = decoded(tensor.first, Moment::first), squares = decoded(tensor.second, Moment::second);
  advance(tensor.values, tensor.gradient, moments, squares, step);
  encode(moments, Moment::first, tensor.first, step);
  encode(squares, Moment::second, tensor.second, step);
}

}  // namespace multicard
