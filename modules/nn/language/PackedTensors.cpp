#include "nn/language/PackedTensors.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include "kernels/DynamicMap.hpp"
#include "kernels/Int4.hpp"
#include "kernels/Nf4.hpp"
#include "nn/language/Int4Weight.hpp"
#include "nn/language/Llama.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace {

constexpr const char* kWeight = ".weight";

// torchao keeps codes unpacked, one int8 each; zeros are all 0, as groups are symmetric, but its loader wants the
// tensor.
class Int4Packer final : public WeightPacker {
 public:
  explicit Int4Packer(std::int64_t group_size) : group_size_(group_size) {}

  std::vector<TensorHeader> headers(const std::string& layer, std::int64_t rows, std::int64_t columns) const override {
    const std::vector<std::int64_t> groups{rows, columns / group_size_};
    return {{layer + kWeight, *safetensors_dtype(at::kChar), {rows, columns}},
            {layer + ".scales", *safetensors_dtype(at::kFloat), groups},
            {layer + ".zeros", *safetensors_dtype(at::kFloat), groups}};
  }
  NamedTensors pack(const std::string& layer, const at::Tensor& weight) const override {
    const TorchaoInt4 tensors = torchao_of(quantise_int4(weight, group_size_));
    return {{layer + kWeight, tensors.weight}, {layer + ".scales", tensors.scales}, {layer + ".zeros", tensors.zeros}};
  }
  std::string quantisation_json() const override {
    return fmt::format(R"({{"quant_method": "{}", "group_size": {}}})", kInt4Method, group_size_);
  }

 private:
  std::int64_t group_size_;
};

/// As config.json and quant_state name it.
std::string torch_name(at::ScalarType type) {
  if (type == at::kBFloat16) return "bfloat16";
  return type == at::kHalf ? "float16" : "float32";
}

at::Tensor copy_of(const float* values, std::int64_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): it is only read
  return at::from_blob(const_cast<float*>(values), {size}, at::kFloat).clone();
}

// bitsandbytes' layout: two codes a byte in a column; absmax, the scale of each block of 64, in float32 or, nested, as
// uint8 codes into nested_quant_map with nested_absmax of each 256 and an offset that is subtracted before; and
// quant_state, JSON as a uint8 tensor, with what the shapes do not say.
class Nf4Packer final : public WeightPacker {
 public:
  Nf4Packer(DoubleQuantisation nested, at::ScalarType compute) : nested_(nested), compute_(compute) {}

  std::vector<TensorHeader> headers(const std::string& layer, std::int64_t rows, std::int64_t columns) const override {
    std::vector<TensorHeader> headers;
    for (const NamedTensor& entry : tensors_of(layer, empty_nf4(rows, columns, nested_, at::kMeta)))
      headers.push_back({entry.name, *safetensors_dtype(entry.tensor.scalar_type()), entry.tensor.sizes().vec()});
    return headers;
  }
  NamedTensors pack(const std::string& layer, const at::Tensor& weight) const override {
    return tensors_of(layer, quantise_nf4(weight, nested_));
  }
  std::string quantisation_json() const override {
    return fmt::format(
        R"({{"quant_method": "bitsandbytes", "load_in_4bit": true, "load_in_8bit": false, "bnb_4bit_quant_type": "nf4", )"
        R"("bnb_4bit_use_double_quant": {}, "bnb_4bit_compute_dtype": "{}", "bnb_4bit_quant_storage": "uint8"}})",
        nested_ == DoubleQuantisation::on, torch_name(compute_));
  }

 private:
  NamedTensors tensors_of(const std::string& layer, const Nf4Matrix& matrix) const {
    const std::string name = layer + kWeight;
    NamedTensors tensors{{name, matrix.packed.view({-1, 1})},
                         {name + ".absmax", matrix.absmax},
                         {name + ".quant_map", copy_of(kNf4Values, 16)}};
    if (matrix.is_nested()) {
      tensors.push_back({name + ".nested_absmax", matrix.nested_absmax});
      tensors.push_back({name + ".nested_quant_map", copy_of(signed_dynamic_map().values, 256)});
    }
    tensors.push_back({name + ".quant_state.bitsandbytes__nf4", state_of(matrix)});
    return tensors;
  }
  /// JSON as bytes, of a size that no value changes: spaces follow.
  at::Tensor state_of(const Nf4Matrix& matrix) const {
    std::string json = fmt::format(R"({{"quant_type": "nf4", "blocksize": {}, "dtype": "{}", "shape": [{}, {}])",
                                   kNf4Block, torch_name(compute_), matrix.rows, matrix.columns);
    if (matrix.is_nested())
      json += fmt::format(R"(, "nested_blocksize": {}, "nested_dtype": "float32", "nested_offset": {:<24})",
                          kNf4NestedBlock, static_cast<double>(matrix.nested_offset));
    json += "}";
    return at::from_blob(json.data(), {static_cast<std::int64_t>(json.size())}, at::kByte).clone();
  }

  DoubleQuantisation nested_;
  at::ScalarType compute_;
};

}  // namespace

std::unique_ptr<WeightPacker> make_int4_packer(const LlamaConfig& config, std::int64_t group_size) {
  check_group_size(config, {WeightFormat::Kind::int4, DoubleQuantisation::off, group_size});
  return std::make_unique<Int4Packer>(group_size);
}

std::unique_ptr<WeightPacker> make_nf4_packer(DoubleQuantisation nested, at::ScalarType compute) {
  return std::make_unique<Nf4Packer>(nested, compute);
}

// A safetensors header comes before the data: names, types and shapes of all tensors must be known before any is
// packed. The file is then written tensor by tensor, and one layer is held at a time.
PackedTensors::PackedTensors(const LlamaConfig& config, std::unique_ptr<WeightPacker> packer, at::ScalarType others,
                             const std::vector<TensorHeader>& tensors, WeightOf weight_of)
    : packer_(std::move(packer)), others_(others), weight_of_(std::move(weight_of)) {
  std::set<std::string> weights;
  for (const std::string& layer : Llama(config, at::kFloat, at::kMeta).linear_layers())
    weights.insert(layer + kWeight);
  for (TensorHeader header : tensors) {
    if (!weights.contains(header.name)) {
      header.dtype = *safetensors_dtype(others);
      headers_.push_back(header);
      continue;
    }
    const std::string layer = header.name.substr(0, header.name.rfind('.'));
    for (const TensorHeader& part : packer_->headers(layer, header.shape.at(0), header.shape.at(1))) {
      headers_.push_back(part);
      layers_[part.name] = layer;
    }
  }
}

at::Tensor PackedTensors::tensor(const std::string& name) {
  const auto layer = layers_.find(name);
  if (layer == layers_.end()) return weight_of_(name, others_);
  // The tensors of a layer are asked for one after the other: it is packed once for all of them.
  if (packed_layer_ != layer->second) {
    packed_ = packer_->pack(layer->second, weight_of_(layer->second + kWeight, at::kFloat));
    packed_layer_ = layer->second;
  }
  const auto is_wanted = [&](const NamedTensor& entry) { return entry.name == name; };
  return std::find_if(packed_.begin(), packed_.end(), is_wanted)->tensor;
}

}  // namespace multicard
