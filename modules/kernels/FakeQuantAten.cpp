#include "kernels/FakeQuantAten.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/FakeQuantValues.hpp"
#include "kernels/cpu/TokenRows.hpp"

namespace multicard {

namespace {

/// Of rows that have one scale each.
struct AtenGrid {
  at::Tensor rows;                  ///< in the type that is computed in
  at::Tensor scale, inverse, zero;  ///< [rows, 1]
  int least, most;

  at::Tensor unclamped() const { return rows.mul(inverse).round_().add_(zero); }
};

/// A division by a tensor: by a number, GPUs multiply with its reciprocal.
at::Tensor divided(const at::Tensor& x, double divisor) {
  return x.div(at::full_like(x, divisor));
}

AtenGrid grid_of_weights(const at::Tensor& weight, std::int64_t group_size) {
  AtenGrid grid{weight.to(wide_dtype(weight)).view({-1, group_size}), {}, {}, {}, kInt4Least, kInt4Most};
  grid.scale = divided(grid.rows.abs().amax(1, /*keepdim=*/true), kInt4Half).clamp_min_(kInt4LeastScale);
  grid.inverse = grid.scale.reciprocal();
  grid.zero = at::zeros_like(grid.scale);
  return grid;
}

AtenGrid grid_of_tokens(const at::Tensor& x) {
  AtenGrid grid{x.to(wide_dtype(x)), {}, {}, {}, kInt8Least, kInt8Most};
  const at::Tensor low = grid.rows.amin(1, /*keepdim=*/true).clamp_max_(0);
  const at::Tensor high = grid.rows.amax(1, /*keepdim=*/true).clamp_min_(0);
  grid.scale = divided(high - low, kInt8Steps).clamp_min_(kInt8LeastScale);
  grid.inverse = grid.scale.reciprocal();
  // The code that stands for 0 exactly.
  grid.zero = low.div(grid.scale).round_().neg_().add_(kInt8Least).clamp_(kInt8Least, kInt8Most);
  return grid;
}

at::Tensor values_of(const AtenGrid& grid, const at::Tensor& x) {
  const at::Tensor codes = grid.unclamped().clamp_(grid.least, grid.most);
  return codes.sub_(grid.zero).mul_(grid.scale).view(x.sizes()).to(x.scalar_type());
}

void apply_gradient(const AtenGrid& grid, const at::Tensor& gradient) {
  const at::Tensor codes = grid.unclamped();
  // Straight through where rounding acts, 0 where clamping does: there the value has no influence on its code.
  const at::Tensor is_kept = codes.ge(grid.least).logical_and_(codes.le(grid.most));
  const at::Tensor passed = gradient.view(grid.rows.sizes()).to(grid.scale.scalar_type()).mul(grid.scale);
  gradient.copy_(passed.mul_(grid.inverse).masked_fill_(is_kept.logical_not(), 0).view(gradient.sizes()));
}

}  // namespace

at::Tensor aten_fake_int4(const at::Tensor& weight, std::int64_t group_size) {
  return values_of(grid_of_weights(weight, group_size), weight);
}

void aten_fake_int4_gradient(const at::Tensor& weight, std::int64_t group_size, const at::Tensor& gradient) {
  apply_gradient(grid_of_weights(weight, group_size), gradient);
}

at::Tensor aten_fake_int8(const at::Tensor& x) {
  return values_of(grid_of_tokens(x), x);
}

void aten_fake_int8_gradient(const at::Tensor& x, const at::Tensor& gradient) {
  apply_gradient(grid_of_tokens(x), gradient);
}

}  // namespace multicard
