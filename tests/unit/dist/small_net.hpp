#pragma once
/// \file A network whose gradients are known without buckets and ranks.

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/ops/allclose.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "values.hpp"

namespace multicard::test {

/// Numbers equal on all ranks.
inline at::Tensor made(at::IntArrayRef sizes, int salt, at::ScalarType type) {
  std::int64_t numel = 1;
  for (const std::int64_t size : sizes)
    numel *= size;
  at::Tensor flat = test::values<double>(numel, 0, salt);
  return flat.sin_().mul_(0.2).view(sizes).to(type);
}

/// A small network of convolutions and linear layers; its first weight is channels_last, one parameter is unused.
struct Net {
  explicit Net(at::ScalarType type) {
    add(made({8, 3, 3, 3}, 1, type).contiguous(at::MemoryFormat::ChannelsLast));
    add(made({8}, 2, type));
    add(made({16, 8, 3, 3}, 3, type).contiguous(at::MemoryFormat::ChannelsLast));
    add(made({16}, 4, type));
    add(made({40, 16 * 4 * 4}, 5, type));
    add(made({40}, 6, type));
    add(made({7, 5}, 7, type));  // unused
    add(made({10, 40}, 8, type).t().contiguous().t());
    add(made({10}, 9, type));
  }
  void add(at::Tensor value) { parameters.push_back(value.requires_grad_()); }

  /// Mean over the rows of the global batch of this rank's rows [first, first + count).
  at::Tensor loss(std::int64_t first, std::int64_t count, std::int64_t of) const {
    const auto type = parameters[0].scalar_type();
    const at::Tensor x = made({of, 3, 8, 8}, 20, type).narrow(0, first, count);
    const at::Tensor target = made({of, 10}, 21, type).narrow(0, first, count);
    at::Tensor y = at::relu(at::conv2d(x, parameters[0], parameters[1]));
    y = at::relu(at::conv2d(y, parameters[2], parameters[3])).reshape({count, -1});
    y = at::relu(at::linear(y, parameters[4], parameters[5]));
    y = at::linear(y, parameters[7], parameters[8]) - target;
    return (y * y).sum() / static_cast<double>(of);
  }

  std::vector<at::Tensor> parameters;
};

/// Gradients of the whole batch, without buckets and ranks.
inline std::vector<at::Tensor> reference(at::ScalarType type, std::int64_t rows) {
  Net net(type);
  net.loss(0, rows, rows).backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : net.parameters)
    gradients.push_back(parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter));
  return gradients;
}

inline void expect_near(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected,
                        double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(at::allclose(found[i], expected[i], tolerance, tolerance))
        << "gradient " << i << " differs by " << (found[i] - expected[i]).abs().max().item<double>();
}

}  // namespace multicard::test
