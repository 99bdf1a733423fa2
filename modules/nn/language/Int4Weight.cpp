#include "nn/language/Int4Weight.hpp"

#include <numeric>
#include <stdexcept>

#include <ATen/ops/mm.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "kernels/FakeQuant.hpp"
#include "kernels/Matmul.hpp"

namespace multicard {

namespace {

/// The even divisors of `number`, ascending.
std::vector<std::string> even_divisors(std::int64_t number) {
  std::vector<std::string> divisors;
  for (std::int64_t size = 2; size <= number; size += 2)
    if (number % size == 0) divisors.push_back(std::to_string(size));
  return divisors;
}

/// A stored layer, checked. \throws DataError
/// The file is not trusted: a matrix of another shape would be read beyond its end.
Int4Matrix matrix_of(const StoredInt4& stored, const Int4Matrix& like) {
  const std::string problem = stored.origin + " cannot be used";
  Int4Matrix matrix;
  try {
    matrix = int4_of({stored.codes, stored.scales, stored.zeros});
  } catch (const std::invalid_argument& error) {
    throw DataError(problem, error.what());
  }
  if (matrix.rows != like.rows || matrix.columns != like.columns || matrix.group_size != like.group_size)
    throw DataError(
        problem, fmt::format("it is [{}, {}] in groups of {}, where config.json gives [{}, {}] in groups of {}",
                             matrix.rows, matrix.columns, matrix.group_size, like.rows, like.columns, like.group_size));
  return matrix;
}

}  // namespace

void check_group_size(std::int64_t group_size, std::span<const GroupedLayer> layers) {
  std::int64_t common = 0;
  for (const GroupedLayer& layer : layers)
    common = std::gcd(common, layer.in);
  for (const GroupedLayer& layer : layers) {
    if (group_size % 2 == 0 && layer.in % group_size == 0) continue;
    const std::vector<std::string> sizes = even_divisors(common);
    throw UsageError(fmt::format("groups of {} weights do not fit this model", group_size),
                     layer.in % group_size == 0 ? "two weights share a byte: the size must be even"
                                                : fmt::format("{} has {} inputs", layer.name, layer.in),
                     sizes.empty() ? "No group size fits all of its layers."
                                   : fmt::format("Set method.group_size to one of {}.", join(sizes, ", ")));
  }
}

// All linear layers have one of these three numbers of inputs.
void check_group_size(const LlamaConfig& config, WeightFormat format) {
  if (!format.has_groups()) return;
  const std::vector<GroupedLayer> layers{{"model.layers.0.self_attn.q_proj", config.hidden_size},
                                         {"model.layers.0.self_attn.o_proj", config.query_size()},
                                         {"model.layers.0.mlp.down_proj", config.intermediate_size}};
  check_group_size(format.group_size, layers);
}

at::Tensor FakeInt4Weight::values(at::ScalarType dtype) const {
  return is_on() ? fake_int4(weight_, group_size_, dtype) : weight_.to(dtype);
}

// Both factors are rounded in the forward pass, so that training sees the errors of 8da4w inference; backward passes
// straight through the rounding (FakeQuant.hpp), with the rounded factors where the product rule asks for the other
// one.
at::Tensor FakeInt4Weight::matmul(const at::Tensor& x) const {
  return fast_matmul(is_on() ? fake_int8(x.contiguous()) : x, values(x.scalar_type()).t());
}

at::Tensor FakeInt4Weight::transposed_matmul(const at::Tensor& dy) const {
  return fast_matmul(dy, values(dy.scalar_type()));
}

// fake_int8_gradient() zeroes what was clamped, for which it computes the scales of x again.
at::Tensor FakeInt4Weight::input_gradient(const at::Tensor& dy, const at::Tensor& x) const {
  at::Tensor gradient = transposed_matmul(dy);
  if (is_on()) fake_int8_gradient(x.contiguous(), gradient);
  return gradient;
}

at::Tensor FakeInt4Weight::weight_gradient(const at::Tensor& dy, const at::Tensor& x) const {
  if (!is_on()) return BaseWeight::weight_gradient(dy, x);
  at::Tensor gradient = at::mm(dy.t(), fake_int8(x.contiguous())).to(weight_.scalar_type());
  fake_int4_gradient(weight_, group_size_, gradient);
  return gradient;
}

Int4Weight::Int4Weight(std::int64_t in, const std::vector<std::int64_t>& outs, std::int64_t group_size,
                       at::Device device)
    : PackedWeight(in, outs, 1) {
  for (const std::int64_t out : outs)
    layers_.push_back(empty_int4(out, in, group_size, device));
}

at::Tensor Int4Weight::matmul(const at::Tensor& x) const {
  return PackedWeight::matmul(fake_int8(x.contiguous()));
}

void Int4Weight::fill(std::size_t layer, const at::Tensor& weight) {
  Int4Matrix& to = layers_.at(layer);
  const Int4Matrix from = quantise_int4(weight.cpu(), to.group_size);
  to.packed.copy_(from.packed);
  to.scales.copy_(from.scales);
}

void Int4Weight::take(std::size_t layer, const StoredWeight& stored) {
  const auto* int4 = std::get_if<StoredInt4>(&stored);
  if (!int4) throw DataError(std::get<StoredNf4>(stored).origin + " cannot be used", "it is not in int4");
  Int4Matrix& to = layers_.at(layer);
  const Int4Matrix from = matrix_of(*int4, to);
  to.packed.copy_(from.packed);
  to.scales.copy_(from.scales);
}

void Int4Weight::share(std::size_t layer, const ShareTensors& share) {
  share({layers_.at(layer).packed, layers_.at(layer).scales});
}

std::int64_t Int4Weight::bytes() const {
  std::int64_t bytes = 0;
  for (const Int4Matrix& layer : layers_)
    bytes += layer.bytes();
  return bytes;
}

std::vector<at::Tensor> Int4Weight::matrices() const {
  std::vector<at::Tensor> all;
  for (const Int4Matrix& layer : layers_)
    all.insert(all.end(), {layer.packed, layer.scales});
  return all;
}

void Int4Weight::dequantise(std::span<const LayerRows> rows) const {
  for (const LayerRows& part : rows)
    dequantise_int4(layers_[part.layer], part.first, part.values);
}

}  // namespace multicard
