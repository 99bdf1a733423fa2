#pragma once
/// \file The tensors of a model that is converted to int4.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "io/Safetensors.hpp"
#include "nn/LlamaConfig.hpp"

namespace multicard {

/// The tensors of a model, where the blocks' linear layers are in int4 as torchao's Int8DynActInt4WeightLinear keeps
/// them: LAYER.weight int8 [out, in] from -8 to 7, LAYER.scales and LAYER.zeros float32 [out, in / group_size]. The
/// others are as they were.
class Int4Tensors {
 public:
  /// The weight of a name, in a type.
  using WeightOf = std::function<at::Tensor(const std::string& name, at::ScalarType dtype)>;

  /// \param others type of the tensors that are not converted \throws UsageError as check_group_size()
  Int4Tensors(const LlamaConfig& config, std::int64_t group_size, at::ScalarType others,
              const std::vector<TensorHeader>& tensors, WeightOf weight_of);

  const std::vector<TensorHeader>& headers() const { return headers_; }
  /// One of headers(), of the weights in float32.
  at::Tensor tensor(const std::string& name) const;
  /// quantization_config of the model's config.json.
  std::string quantisation_json() const;

 private:
  std::int64_t group_size_;
  at::ScalarType others_;
  WeightOf weight_of_;
  std::set<std::string> layers_;
  std::vector<TensorHeader> headers_;
};

}  // namespace multicard
