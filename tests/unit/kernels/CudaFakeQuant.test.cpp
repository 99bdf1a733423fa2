// The GPU kernels of fake quantisation, compiled as C++ and executed by the CPU (tests/cuda_shim), against the loops of
// CPUs: the same bits, in every order of threads.
#include "kernels/cuda/CudaFakeQuant.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <gtest/gtest.h>

#include "cuda_shim/Execution.hpp"
#include "kernels/cpu/FakeQuantKernelsBody.hpp"
#include "kernels/cpu/TensorValues.hpp"

namespace multicard {
namespace {

using cuda_shim::Execution;
using cuda_shim::ExecutionScope;
using cuda_shim::Order;

/// In part of a warp, in one and in several, in packs and not, and beyond what threads keep of a row.
const std::vector<std::int64_t> kSizes{1, 2, 8, 32, 83, 128, 256, 520, 1031, 8200};
const std::vector<at::ScalarType> kTypes{at::kFloat, at::kHalf, at::kBFloat16};
constexpr std::int64_t kRows = 11;

/// Rows of values of both signs, of one, of zeros and of very small ones, whose memory may begin after a multiple of
/// 16 bytes.
at::Tensor rows_of(std::int64_t size, at::ScalarType dtype, std::int64_t shift) {
  const at::Tensor values = at::randn({kRows, size}, at::kDouble);
  values[1].abs_();
  values[2].abs_().neg_();
  values[3].zero_();
  values[4].mul_(1e-6);
  values[5].exp_();
  const at::Tensor rows = at::empty({kRows * size + shift}, dtype).narrow(0, shift, kRows * size).view({kRows, size});
  return rows.copy_(values);
}

void in_every_order(const std::function<void(std::int64_t size, at::ScalarType dtype, const at::Tensor& x)>& body) {
  for (const Order order : {Order::ascending, Order::descending, Order::shuffled})
    for (const at::ScalarType dtype : kTypes)
      for (const std::int64_t size : kSizes)
        for (const std::int64_t shift : {0, 1}) {
          SCOPED_TRACE(std::string(c10::toString(dtype)) + ", size " + std::to_string(size));
          const ExecutionScope scope(Execution{order, 1, {}});
          body(size, dtype, rows_of(size, dtype, shift));
        }
}

TEST(CudaFakeQuant, WeightsHaveTheBitsOfCpus) {
  in_every_order([](std::int64_t size, at::ScalarType dtype, const at::Tensor& weight) {
    const at::Tensor expected = at::empty_like(weight), dy = at::randn_like(weight);
    const at::Tensor gradient = dy.clone(), expected_gradient = dy.clone();
    with_storage(dtype, [&]<typename S>() {
      kFakeQuantKernels<S>.int4(values_of<S>(weight), kRows, size, mutable_values_of<S>(expected));
      kFakeQuantKernels<S>.int4_gradient(values_of<S>(weight), kRows, size, mutable_values_of<S>(expected_gradient));
    });

    const at::Tensor found = cuda_fake_int4(weight, size);
    cuda_fake_int4_gradient(weight, size, gradient);

    EXPECT_TRUE(found.equal(expected));
    EXPECT_TRUE(gradient.equal(expected_gradient));
  });
}

TEST(CudaFakeQuant, ActivationsHaveTheBitsOfCpus) {
  in_every_order([](std::int64_t size, at::ScalarType dtype, const at::Tensor& x) {
    const at::Tensor expected = at::empty_like(x), dy = at::randn_like(x);
    const at::Tensor gradient = dy.clone(), expected_gradient = dy.clone();
    with_storage(dtype, [&]<typename S>() {
      kFakeQuantKernels<S>.int8(values_of<S>(x), kRows, size, mutable_values_of<S>(expected));
      kFakeQuantKernels<S>.int8_gradient(values_of<S>(x), kRows, size, mutable_values_of<S>(expected_gradient));
    });

    const at::Tensor found = cuda_fake_int8(x);
    cuda_fake_int8_gradient(x, gradient);

    EXPECT_TRUE(found.equal(expected));
    EXPECT_TRUE(gradient.equal(expected_gradient));
  });
}

TEST(CudaFakeQuant, GroupsAreThoseOfAMatrix) {
  const at::Tensor weight = at::randn({6, 96}), dy = at::randn({6, 96}), gradient = dy.clone();

  const at::Tensor found = cuda_fake_int4(weight, 32);
  cuda_fake_int4_gradient(weight, 32, gradient);

  const at::Tensor group = weight.narrow(0, 4, 1).narrow(1, 32, 32).contiguous();
  const at::Tensor group_gradient = dy.narrow(0, 4, 1).narrow(1, 32, 32).contiguous();
  cuda_fake_int4_gradient(group, 32, group_gradient);
  EXPECT_TRUE(found.narrow(0, 4, 1).narrow(1, 32, 32).equal(cuda_fake_int4(group, 32)));
  EXPECT_TRUE(gradient.narrow(0, 4, 1).narrow(1, 32, 32).equal(group_gradient));
}

TEST(CudaFakeQuant, TakesNoRows) {
  for (const at::ScalarType dtype : kTypes) {
    const at::Tensor none = at::empty({0, 64}, dtype);

    EXPECT_EQ(cuda_fake_int4(none, 32).sizes(), none.sizes());
    EXPECT_EQ(cuda_fake_int8(none).sizes(), none.sizes());
    EXPECT_NO_THROW(cuda_fake_int4_gradient(none, 32, none));
    EXPECT_NO_THROW(cuda_fake_int8_gradient(none, none));
  }
}

}  // namespace
}  // namespace multicard
