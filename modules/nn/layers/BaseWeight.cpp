#include "nn/layers/BaseWeight.hpp"

#include <algorithm>
#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"
#include "kernels/DynamicMap.hpp"
#include "kernels/Matmul.hpp"

namespace multicard {

namespace {

/// Of what is dequantised at a time. On a GPU launches cost more than memory: the largest weights of a model of 8
/// billion in 16 bits, gate and up, are 224 MiB.
std::int64_t most_panel_bytes(at::Device device) {
  return device.is_cpu() ? 32 << 20 : 256 << 20;
}

bool has_values(const at::Tensor& map, const float* values, std::int64_t size) {
  if (map.scalar_type() != at::kFloat || map.numel() != size) return false;
  return std::equal(values, values + size, map.const_data_ptr<float>());
}

/// What NAME.quant_state.bitsandbytes__nf4 says.
struct Nf4State {
  std::int64_t block = 0, nested_block = kNf4NestedBlock;
  std::vector<std::int64_t> shape;
  float nested_offset = 0;
};

/// \throws DataError for JSON that is none
Nf4State state_of(const StoredNf4& stored, const std::string& problem) {
  const auto json = parse_json_object<nlohmann::json>(stored.state, problem);
  Nf4State state;
  try {
    if (json.at("quant_type") != "nf4") throw DataError(problem, "it is not in NF4");
    state.block = json.at("blocksize").get<std::int64_t>();
    state.shape = json.at("shape").get<std::vector<std::int64_t>>();
    if (!stored.nested_absmax) return state;
    state.nested_block = json.at("nested_blocksize").get<std::int64_t>();
    state.nested_offset = json.at("nested_offset").get<float>();
  } catch (const nlohmann::json::exception&) {
    throw DataError(problem, "a value of its quant_state is missing or of another type");
  }
  return state;
}

/// bitsandbytes' tensors, checked. \throws DataError
/// NF4 (Dettmers et al. 2023, arXiv 2305.14314): an element is quant_map[code] * absmax[block]; nested, absmax[block]
/// itself is nested_quant_map[code] * nested_absmax + nested_offset. The kernels have the maps built in: a file with
/// others is refused.
Nf4Matrix matrix_of(const StoredNf4& stored, std::int64_t rows, std::int64_t columns) {
  const std::string problem = stored.origin + " cannot be used";
  const auto refuse = [&](const std::string& why) { throw DataError(problem, why); };
  const Nf4State state = state_of(stored, problem);
  Nf4Matrix matrix =
      empty_nf4(rows, columns, stored.nested_absmax ? DoubleQuantisation::on : DoubleQuantisation::off, at::kMeta);
  const auto is_like = [](const at::Tensor& given, const at::Tensor& wanted) {
    return given.scalar_type() == wanted.scalar_type() && given.numel() == wanted.numel();
  };
  // The bytes may pass for numbers of any type (bnb_4bit_quant_storage).
  const at::Tensor packed = stored.packed.contiguous().view(-1).view(at::kByte);
  if (state.block != kNf4Block || state.nested_block != kNf4NestedBlock)
    refuse("its blocks are not of 64 weights and 256 scales");
  if (state.shape != std::vector{rows, columns}) refuse("config.json gives it another shape");
  if (!is_like(packed, matrix.packed) || !is_like(stored.absmax, matrix.absmax)) refuse("a tensor has another size");
  if (!has_values(stored.quant_map, kNf4Values, 16)) refuse("its quantisation table is not that of NF4");
  matrix.packed = packed;
  matrix.absmax = stored.absmax.view(-1);
  if (!matrix.is_nested()) return matrix;
  if (!is_like(*stored.nested_absmax, matrix.nested_absmax)) refuse("nested_absmax has another size");
  if (!stored.nested_quant_map || !has_values(*stored.nested_quant_map, signed_dynamic_map().values, 256))
    refuse("the quantisation table of its scales is another one");
  matrix.nested_absmax = stored.nested_absmax->view(-1);
  matrix.nested_offset = state.nested_offset;
  return matrix;
}

std::vector<std::int64_t> rows_of(const std::vector<Nf4Weight::Layer>& layers) {
  std::vector<std::int64_t> rows;
  rows.reserve(layers.size());
  for (const Nf4Weight::Layer& layer : layers)
    rows.push_back(layer.out);
  return rows;
}

}  // namespace

at::Tensor DenseWeight::matmul(const at::Tensor& x) const {
  return fast_matmul(x, weight_.to(x.scalar_type()).t());
}

at::Tensor DenseWeight::transposed_matmul(const at::Tensor& dy) const {
  return fast_matmul(dy, weight_.to(dy.scalar_type()));
}

at::Tensor BaseWeight::weight_gradient(const at::Tensor& dy, const at::Tensor& x) const {
  return at::mm(dy.t(), x);
}

PackedWeight::PackedWeight(std::int64_t in, std::vector<std::int64_t> outs, std::int64_t aligned)
    : in_(in),
      out_(std::accumulate(outs.begin(), outs.end(), std::int64_t{0})),
      aligned_(aligned),
      outs_(std::move(outs)) {}

/// Whole where all of it is small, else parts that begin with a block of their layer.
std::vector<PackedWeight::Panel> PackedWeight::panels(const at::Tensor& operand) const {
  const std::int64_t row_bytes = in_ * static_cast<std::int64_t>(operand.element_size());
  const std::int64_t most_bytes = most_panel_bytes(operand.device());
  if (out_ * row_bytes <= most_bytes) return {{0, out_}};
  const std::int64_t most = std::max(aligned_, most_bytes / row_bytes / aligned_ * aligned_);
  std::vector<Panel> panels;
  std::int64_t layer_begin = 0;
  for (const std::int64_t out : outs_) {
    for (std::int64_t first = 0; first < out; first += most)
      panels.push_back({layer_begin + first, std::min(most, out - first)});
    layer_begin += out;
  }
  return panels;
}

at::Tensor PackedWeight::values(const Panel& panel, const at::TensorOptions& options) const {
  at::Tensor values = at::empty({panel.count, in_}, options);
  std::vector<LayerRows> rows;
  std::int64_t begin = 0;  // of the layer
  for (std::size_t i = 0; i < outs_.size(); ++i) {
    const std::int64_t first = std::max(panel.first, begin);
    const std::int64_t end = std::min(panel.first + panel.count, begin + outs_[i]);
    if (first < end) rows.push_back({i, first - begin, values.narrow(0, first - panel.first, end - first)});
    begin += outs_[i];
  }
  dequantise(rows);
  return values;
}

at::Tensor PackedWeight::matmul(const at::Tensor& x) const {
  const std::vector<Panel> panels = this->panels(x);
  if (panels.size() == 1) return fast_matmul(x, values(panels.front(), x.options()).t());
  at::Tensor y = at::empty({x.size(0), out_}, x.options());
  for (const Panel& panel : panels)
    matmul_into(y.narrow(1, panel.first, panel.count), x, values(panel, x.options()).t());
  return y;
}

// dy W sums over W's rows, and so over the panels; x W^T (above) puts their columns next to each other.
at::Tensor PackedWeight::transposed_matmul(const at::Tensor& dy) const {
  at::Tensor dx;
  for (const Panel& panel : panels(dy)) {
    const at::Tensor part = dy.narrow(1, panel.first, panel.count), rows = values(panel, dy.options());
    if (dx.defined())
      dx.addmm_(part, rows);
    else
      dx = fast_matmul(part, rows);
  }
  return dx;
}

Nf4Weight::Nf4Weight(std::int64_t in, const std::vector<Layer>& layers, DoubleQuantisation nested,
                     const at::TensorOptions& options)
    // Blocks of 64 run through the matrix without regard to rows: a row begins with a block every 64 / gcd(in, 64) rows
    // only.
    : PackedWeight(in, rows_of(layers), kNf4Block / std::gcd(in, kNf4Block)) {
  for (const Layer& layer : layers) {
    layers_.push_back(layer.is_whole ? Nf4Matrix() : empty_nf4(layer.out, in, nested, options.device()));
    whole_.push_back(layer.is_whole ? at::empty({layer.out, in}, options) : at::Tensor());
  }
}

void Nf4Weight::fill(std::size_t layer, const at::Tensor& weight) {
  if (at::Tensor& whole = whole_.at(layer); whole.defined()) {
    whole.copy_(weight);
    return;
  }
  Nf4Matrix& to = layers_.at(layer);
  copy(quantise_nf4(weight.cpu(), to.is_nested() ? DoubleQuantisation::on : DoubleQuantisation::off), to);
}

// Into the tensors that are there: what shares their memory follows.
void Nf4Weight::copy(const Nf4Matrix& from, Nf4Matrix& to) {
  to.packed.copy_(from.packed);
  to.absmax.copy_(from.absmax);
  if (to.is_nested()) to.nested_absmax.copy_(from.nested_absmax);
  to.nested_offset = from.nested_offset;
}

void Nf4Weight::take(std::size_t layer, const StoredWeight& stored) {
  const auto* nf4 = std::get_if<StoredNf4>(&stored);
  if (!nf4) throw DataError(std::get<StoredInt4>(stored).origin + " cannot be used", "it is not in NF4");
  if (whole_.at(layer).defined()) throw DataError(nf4->origin + " cannot be used", "it is expected to be whole");
  Nf4Matrix& to = layers_.at(layer);
  const Nf4Matrix from = matrix_of(*nf4, to.rows, to.columns);
  if (from.is_nested() != to.is_nested())
    throw DataError(nf4->origin + " cannot be used",
                    to.is_nested() ? "its scales are not quantised, as those of the other weights are"
                                   : "its scales are quantised, unlike those of the other weights");
  copy(from, to);
}

void Nf4Weight::share(std::size_t layer, const ShareTensors& share) {
  if (whole_.at(layer).defined()) return share({whole_[layer]});
  Nf4Matrix& matrix = layers_.at(layer);
  if (!matrix.is_nested()) return share({matrix.packed, matrix.absmax});
  const at::Tensor offset = at::full({1}, matrix.nested_offset, matrix.nested_absmax.options());
  share({matrix.packed, matrix.absmax, matrix.nested_absmax, offset});
  matrix.nested_offset = offset.item<float>();
}

std::int64_t Nf4Weight::bytes() const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    bytes += whole_[i].defined() ? static_cast<std::int64_t>(whole_[i].nbytes()) : layers_[i].bytes();
  return bytes;
}

// Not nested_absmax, one value for 16384 weights.
std::vector<at::Tensor> Nf4Weight::matrices() const {
  std::vector<at::Tensor> all;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    if (whole_[i].defined())
      all.push_back(whole_[i]);
    else
      all.insert(all.end(), {layers_[i].packed, layers_[i].absmax});
  return all;
}

void Nf4Weight::dequantise(std::span<const LayerRows> rows) const {
  std::vector<Nf4Rows> all;
  for (const LayerRows& part : rows)
    if (const at::Tensor& whole = whole_[part.layer]; whole.defined())
      part.values.copy_(whole.narrow(0, part.first, part.values.size(0)));
    else
      all.push_back({&layers_[part.layer], part.first, part.values});
  if (!all.empty()) dequantise_nf4(all);
}

}  // namespace multicard
