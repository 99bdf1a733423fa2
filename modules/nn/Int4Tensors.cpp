#include "nn/Int4Tensors.hpp"

#include <utility>

#include <fmt/format.h>

#include "kernels/Int4.hpp"
#include "nn/Int4Weight.hpp"
#include "nn/Llama.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace {

/// LAYER.weight -> LAYER and weight
std::pair<std::string, std::string> split(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return {name.substr(0, dot), name.substr(dot + 1)};
}

}  // namespace

Int4Tensors::Int4Tensors(const LlamaConfig& config, std::int64_t group_size, at::ScalarType others,
                         const std::vector<TensorHeader>& tensors, WeightOf weight_of)
    : group_size_(group_size), others_(others), weight_of_(std::move(weight_of)) {
  check_group_size(config, {WeightFormat::Kind::int4, DoubleQuantisation::off, group_size});
  const std::vector<std::string> layers = Llama(config, at::kFloat, at::kMeta).linear_layers();
  layers_ = {layers.begin(), layers.end()};
  for (TensorHeader header : tensors) {
    const auto [layer, part] = split(header.name);
    if (part != "weight" || !layers_.contains(layer)) {
      header.dtype = *safetensors_dtype(others);
      headers_.push_back(header);
      continue;
    }
    const std::vector<std::int64_t> groups{header.shape.at(0), header.shape.at(1) / group_size};
    headers_.push_back({header.name, *safetensors_dtype(at::kChar), header.shape});
    headers_.push_back({layer + ".scales", *safetensors_dtype(at::kFloat), groups});
    headers_.push_back({layer + ".zeros", *safetensors_dtype(at::kFloat), groups});
  }
}

at::Tensor Int4Tensors::tensor(const std::string& name) const {
  const auto [layer, part] = split(name);
  if (!layers_.contains(layer) || part == "bias") return weight_of_(name, others_);
  const TorchaoInt4 tensors = torchao_of(quantise_int4(weight_of_(layer + ".weight", at::kFloat), group_size_));
  if (part == "weight") return tensors.weight;
  return part == "scales" ? tensors.scales : tensors.zeros;
}

std::string Int4Tensors::quantisation_json() const {
  return fmt::format(R"({{"quant_method": "{}", "group_size": {}}})", kInt4Method, group_size_);
}

}  // namespace multicard
