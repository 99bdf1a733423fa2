#pragma once
/// \file What takes a weight out of a file without being a tensor of its values.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// A weight that is stored in 4 bits, as bitsandbytes stores it with others in a safetensors file. Tensors share the
/// mapped file: they must not be written to.
struct StoredNf4 {
  at::Tensor packed;                                          ///< NAME: uint8, a column of bytes
  at::Tensor absmax, quant_map;                               ///< NAME.absmax, NAME.quant_map
  std::optional<at::Tensor> nested_absmax, nested_quant_map;  ///< where the scales are quantised
  std::string state;                                          ///< NAME.quant_state.bitsandbytes__nf4: JSON
  std::string origin;                                         ///< of errors: the file's folder and the name
};

/// A weight that is stored as torchao's Int8DynActInt4WeightLinear keeps it: int4 codes in int8. Tensors as above.
struct StoredInt4 {
  at::Tensor codes;          ///< LAYER.weight: int8 [out, in]
  at::Tensor scales, zeros;  ///< LAYER.scales, LAYER.zeros: float32 [out, groups]
  std::string origin;        ///< of errors: the file's folder and the name
};

using StoredWeight = std::variant<StoredNf4, StoredInt4>;

/// Gives tensors the values that they have on one of the ranks.
using ShareTensors = std::function<void(const std::vector<at::Tensor>& tensors)>;

/// Takes the weight `name` in a form of its own, quantised for example.
struct WeightSink {
  std::string name;
  std::vector<std::int64_t> shape;
  /// Is given the values on the CPU, which it must not write to.
  std::function<void(const at::Tensor& values)> fill;
  /// Is given a weight that is stored in 4 bits.
  std::function<void(const StoredWeight& stored)> take;
  /// Collective. Gives this weight what it was given on one of the ranks, by one call of the function.
  std::function<void(const ShareTensors& share)> share;
};

using WeightSinks = std::vector<WeightSink>;

}  // namespace multicard
