#include "kernels/FakeQuant.hpp"

#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/FakeQuantAten.hpp"
#include "kernels/cpu/FakeQuantKernels.hpp"
#include "kernels/cpu/TokenRows.hpp"
#include "kernels/cuda/CudaFakeQuant.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kFewestValues = 16384;  ///< that a thread is started for

/// Calls body(first, rows) for parts of the rows of `size` values, in parallel.
template <typename Body>
void for_rows(std::int64_t rows, std::int64_t size, const Body& body) {
  // Work is counted in values, so that short rows are not shared out one by one.
  const std::int64_t fewest = std::max<std::int64_t>(1, kFewestValues / size);
  at::parallel_for(0, rows, fewest, [&](std::int64_t first, std::int64_t end) { body(first, end - first); });
}

template <typename S>
void fake_int4_on_cpu(const at::Tensor& weight, std::int64_t group_size, const at::Tensor& y) {
  const S* from = values_of<S>(weight);
  const auto into = [&](auto* to, auto kernel) {
    for_rows(weight.numel() / group_size, group_size, [&](std::int64_t first, std::int64_t groups) {
      kernel(from + first * group_size, groups, group_size, to + first * group_size);
    });
  };
  if (y.scalar_type() == weight.scalar_type())
    into(mutable_values_of<S>(y), fake_quant_kernels<S>().int4);
  else
    into(mutable_values_of<Compute<S>>(y), fake_quant_kernels<S>().int4_wide);
}

}  // namespace

at::Tensor fake_int4(const at::Tensor& weight, std::int64_t group_size, at::ScalarType dtype) {
  if (has_cuda_fake_quant(weight)) return cuda_fake_int4(weight, group_size).to(dtype);
  if (!weight.is_cpu()) return aten_fake_int4(weight, group_size).to(dtype);
  // Where the caller multiplies in float32 anyway, values are not rounded to the weight's type in between.
  const at::ScalarType wide = wide_dtype(weight);
  at::Tensor y = at::empty(weight.sizes(), weight.options().dtype(dtype == wide ? wide : weight.scalar_type()));
  with_storage(weight.scalar_type(), [&]<typename S>() { fake_int4_on_cpu<S>(weight, group_size, y); });
  return y.to(dtype);
}

void fake_int4_gradient(const at::Tensor& weight, std::int64_t group_size, const at::Tensor& gradient) {
  if (has_cuda_fake_quant(weight)) return cuda_fake_int4_gradient(weight, group_size, gradient);
  if (!weight.is_cpu()) return aten_fake_int4_gradient(weight, group_size, gradient);
  with_storage(weight.scalar_type(), [&]<typename S>() {
    const S* from = values_of<S>(weight);
    S* to = mutable_values_of<S>(gradient);
    for_rows(weight.numel() / group_size, group_size, [&](std::int64_t first, std::int64_t groups) {
      fake_quant_kernels<S>().int4_gradient(from + first * group_size, groups, group_size, to + first * group_size);
    });
  });
}

at::Tensor fake_int8(const at::Tensor& x) {
  if (has_cuda_fake_quant(x)) return cuda_fake_int8(x);
  if (!x.is_cpu()) return aten_fake_int8(x);
  // The scale of a token needs its range, so the kernel reads each token twice; the second time it is in the cache.
  const std::int64_t size = x.size(1);
  at::Tensor y = at::empty_like(x);
  with_storage(x.scalar_type(), [&]<typename S>() {
    const S* from = values_of<S>(x);
    S* to = mutable_values_of<S>(y);
    for_rows(x.size(0), size, [&](std::int64_t first, std::int64_t tokens) {
      fake_quant_kernels<S>().int8(from + first * size, tokens, size, to + first * size);
    });
  });
  return y;
}

void fake_int8_gradient(const at::Tensor& x, const at::Tensor& gradient) {
  if (has_cuda_fake_quant(x)) return cuda_fake_int8_gradient(x, gradient);
  if (!x.is_cpu()) return aten_fake_int8_gradient(x, gradient);
  const std::int64_t size = x.size(1);
  with_storage(x.scalar_type(), [&]<typename S>() {
    const S* from = values_of<S>(x);
    S* to = mutable_values_of<S>(gradient);
    for_rows(x.size(0), size, [&](std::int64_t first, std::int64_t tokens) {
      fake_quant_kernels<S>().int8_gradient(from + first * size, tokens, size, to + first * size);
    });
  });
}

}  // namespace multicard
