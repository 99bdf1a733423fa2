#pragma once
// Results and gradients of operations on tokens, against plain operations in float64 of the same rounded inputs.

#include <functional>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linspace.h>
#include <gtest/gtest.h>

#include "kernels/Kernels.hpp"

namespace multicard::test {

struct TokenType {
  at::ScalarType dtype;
  double tolerance;
};
inline const std::vector<TokenType> kTokenTypes{
    {at::kDouble, 1e-13}, {at::kFloat, 2e-6}, {at::kBFloat16, 1e-2}, {at::kHalf, 1.5e-3}};

inline double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a.cpu().to(at::kDouble) - b).norm().item<double>() / b.norm().item<double>();
}

using Results = std::vector<at::Tensor>;

/// Results and gradients of inputs of `dtype` on `device`, by the kernels of `kernels`.
inline Results computed(const Results& inputs, at::ScalarType dtype, at::Device device, Kernels kernels,
                        const std::function<Results(const Results&, Kernels)>& body) {
  Results leaves, all;
  for (const at::Tensor& input : inputs)
    leaves.push_back(input.to(device, dtype).detach().requires_grad_(true));
  at::Tensor sum;
  for (const at::Tensor& result : body(leaves, kernels)) {
    all.push_back(result.detach());
    const at::Tensor weights = at::linspace(-1, 2, result.numel(), at::kDouble).view(result.sizes());
    const at::Tensor part = (result * weights.to(device, dtype)).sum(at::kDouble);
    sum = sum.defined() ? sum + part : part;
  }
  sum.backward();
  for (const at::Tensor& leaf : leaves)
    all.push_back(leaf.grad());
  return all;
}

/// Of each of `sizes` by both kinds of kernels on `device`.
inline void expect_near(const std::vector<std::int64_t>& sizes, at::Device device,
                        const std::function<Results(std::int64_t)>& inputs,
                        const std::function<Results(const Results&, Kernels)>& body) {
  for (const std::int64_t size : sizes)
    for (const TokenType& type : kTokenTypes) {
      Results rounded;
      for (const at::Tensor& input : inputs(size))
        rounded.push_back(input.to(type.dtype).to(at::kDouble));
      const Results expected = computed(rounded, at::kDouble, at::kCPU, Kernels::aten, body);
      for (const Kernels kernels : {Kernels::automatic, Kernels::aten}) {
        const Results found = computed(rounded, type.dtype, device, kernels, body);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(found[i].scalar_type(), type.dtype);
          EXPECT_LT(distance(found[i], expected[i]), type.tolerance)
              << c10::toString(type.dtype) << " size " << size << " result " << i;
        }
      }
    }
}

}  // namespace multicard::test
