#pragma once
/// \file The tensors of a model whose linear layers are converted to 4 bits.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "io/Safetensors.hpp"
#include "kernels/WeightFormat.hpp"
#include "nn/language/LlamaConfig.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// How the weight of a linear layer is stored.
class WeightPacker {
 public:
  virtual ~WeightPacker() = default;
  /// The tensors for a weight [rows, columns].
  virtual std::vector<TensorHeader> headers(const std::string& layer, std::int64_t rows,
                                            std::int64_t columns) const = 0;
  /// Those, of a weight in float32.
  virtual NamedTensors pack(const std::string& layer, const at::Tensor& weight) const = 0;
  /// quantization_config of the model's config.json.
  virtual std::string quantisation_json() const = 0;
};

/// As torchao's Int8DynActInt4WeightLinear: LAYER.weight int8 [out, in] from -8 to 7, LAYER.scales and LAYER.zeros
/// float32 [out, in / group_size]. \throws UsageError as check_group_size()
std::unique_ptr<WeightPacker> make_int4_packer(const LlamaConfig& config, std::int64_t group_size);
/// As transformers saves a model that bitsandbytes has quantised: LAYER.weight uint8 [ceil(elements / 2), 1] and what
/// kernels/Nf4.hpp adds to it. \param compute the type that readers dequantise to
std::unique_ptr<WeightPacker> make_nf4_packer(DoubleQuantisation nested, at::ScalarType compute);

/// The tensors of a model, where those of the blocks' linear layers are packed. The others are as they were.
class PackedTensors {
 public:
  /// The weight of a name, in a type.
  using WeightOf = std::function<at::Tensor(const std::string& name, at::ScalarType dtype)>;

  /// \param others type of the tensors that are not packed
  PackedTensors(const LlamaConfig& config, std::unique_ptr<WeightPacker> packer, at::ScalarType others,
                const std::vector<TensorHeader>& tensors, WeightOf weight_of);

  /// Those of a layer side by side.
  const std::vector<TensorHeader>& headers() const { return headers_; }
  /// One of headers(), of the weights in float32. A layer is packed again when another was asked for in between.
  at::Tensor tensor(const std::string& name);
  std::string quantisation_json() const { return packer_->quantisation_json(); }

 private:
  std::unique_ptr<WeightPacker> packer_;
  at::ScalarType others_;
  WeightOf weight_of_;
  std::map<std::string, std::string> layers_;  ///< of the names of packed tensors
  std::vector<TensorHeader> headers_;
  std::string packed_layer_;  ///< whose tensors are `packed_`
  NamedTensors packed_;
};

}  // namespace multicard
