#pragma once
/// \file What takes a weight out of a file without being a tensor of its values.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Takes the weight `name` in a form of its own, quantised for example.
struct WeightSink {
  std::string name;
  std::vector<std::int64_t> shape;
  /// Is given the values on the CPU, which it must not write to.
  std::function<void(const at::Tensor& values)> fill;
};

using WeightSinks = std::vector<WeightSink>;

}  // namespace multicard
