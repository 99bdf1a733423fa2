#include "nn/layers/BaseWeight.hpp"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "kernels/DynamicMap.hpp"

namespace multicard {
namespace {

/// Layers of `outs` rows, and their dequantised values below each other.
std::pair<Nf4Weight, at::Tensor> filled(std::int64_t in, const std::vector<std::int64_t>& outs) {
  std::vector<Nf4Weight::Layer> layers;
  layers.reserve(outs.size());
  for (const std::int64_t out : outs)
    layers.push_back({out});
  Nf4Weight weight(in, layers, DoubleQuantisation::on, at::kCPU);
  std::vector<at::Tensor> values;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    const at::Tensor layer = at::randn({outs[i], in}) / std::sqrt(static_cast<double>(in));
    weight.fill(i, layer);
    values.push_back(dequantise_nf4(quantise_nf4(layer, DoubleQuantisation::on), at::kFloat));
  }
  return {weight, at::cat(values)};
}

void expect_products(const Nf4Weight& weight, const at::Tensor& values, double tolerance) {
  const at::Tensor x = at::randn({5, values.size(1)}), dy = at::randn({5, values.size(0)});
  const auto far = [](const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); };

  EXPECT_LT(far(weight.matmul(x), x.matmul(values.t())), tolerance);
  EXPECT_LT(far(weight.transposed_matmul(dy), dy.matmul(values)), tolerance);
}

TEST(BaseWeight, QuantisedLayersComputeWithTheirDequantisedValues) {
  const auto [weight, values] = filled(96, {40, 24});

  expect_products(weight, values, 1e-5);
}

TEST(BaseWeight, LargeWeightsAreComputedInParts) {
  const auto [weight, values] = filled(2080, {3000, 1600, 11});  // 38 MB, rows that end inside a block

  expect_products(weight, values, 1e-4);
}

TEST(BaseWeight, LayersKeptWholeAreMultipliedAsTheyAre) {
  Nf4Weight weight(96, {{40}, {24, true}, {8}}, DoubleQuantisation::on, at::TensorOptions(at::kFloat));
  const at::Tensor first = at::randn({40, 96}) / 10, whole = at::randn({24, 96}) / 10, last = at::randn({8, 96}) / 10;
  const auto rounded = [](const at::Tensor& layer) {
    return dequantise_nf4(quantise_nf4(layer, DoubleQuantisation::on), at::kFloat);
  };

  weight.fill(0, first);
  weight.fill(1, whole);
  weight.fill(2, last);

  expect_products(weight, at::cat({rounded(first), whole, rounded(last)}), 1e-5);
  const std::int64_t packed =
      quantise_nf4(first, DoubleQuantisation::on).bytes() + quantise_nf4(last, DoubleQuantisation::on).bytes();
  EXPECT_EQ(weight.bytes(), packed + 24 * 96 * 4);
}

TEST(BaseWeight, ProductsHaveTheTypeOfTheirOperand) {
  const auto [weight, values] = filled(64, {64});
  const at::Tensor x = at::randn({3, 64}, at::kDouble);

  EXPECT_LT((weight.matmul(x) - x.matmul(values.to(at::kDouble).t())).abs().max().item<double>(), 1e-12);
  EXPECT_EQ(weight.matmul(x.to(at::kBFloat16)).scalar_type(), at::kBFloat16);
}

/// A layer of 6 x 64 as bitsandbytes stores it.
StoredNf4 stored(const Nf4Matrix& matrix, const std::string& state) {
  const auto map = [](const float* values, std::int64_t size) {
    return at::from_blob(const_cast<float*>(values), {size}, at::kFloat).clone();  // NOLINT: it is only read
  };
  return {matrix.packed.unsqueeze(1),
          matrix.absmax,
          map(kNf4Values, 16),
          matrix.nested_absmax,
          map(signed_dynamic_map().values, 256),
          state,
          "folder: q"};
}

TEST(BaseWeight, TakesWhatBitsandbytesStored) {
  const Nf4Matrix matrix = quantise_nf4(at::randn({6, 64}), DoubleQuantisation::on);
  const std::string shape = R"("shape": [6, 64], "nested_blocksize": 256, "nested_offset": )";
  const auto state_of = [&](const std::string& block) {
    return fmt::format(R"({{"quant_type": "nf4", "blocksize": {}, {}{:.17g}}})", block, shape, matrix.nested_offset);
  };
  Nf4Weight weight(64, {{6}}, DoubleQuantisation::on, at::kCPU);
  const void* const memory = weight.matrices().front().const_data_ptr();

  weight.take(0, stored(matrix, state_of("64")));

  EXPECT_EQ(weight.matrices().front().const_data_ptr(), memory);
  Nf4Weight whole_scales(64, {{6}}, DoubleQuantisation::off, at::kCPU);
  EXPECT_THROW(whole_scales.take(0, stored(matrix, state_of("64"))), DataError);

  EXPECT_TRUE(at::equal(dequantise_nf4(weight.layers()[0], at::kFloat), dequantise_nf4(matrix, at::kFloat)));
  for (const std::string& wrong : {state_of("128"), state_of("\"x\""), std::string("{}"), std::string("no JSON")})
    EXPECT_THROW(weight.take(0, stored(matrix, wrong)), DataError) << wrong;
  Nf4Weight other(32, {{12}}, DoubleQuantisation::on, at::kCPU);
  EXPECT_THROW(other.take(0, stored(matrix, state_of("64"))), DataError) << "of another shape";
  StoredNf4 codes = stored(matrix, state_of("64"));
  codes.quant_map[3] = 0;
  EXPECT_THROW(weight.take(0, codes), DataError);
}

TEST(BaseWeight, BytesOfNf4MayPassForOtherNumbers) {
  const Nf4Matrix matrix = quantise_nf4(at::randn({6, 64}), DoubleQuantisation::on);
  StoredNf4 given = stored(matrix, fmt::format(R"({{"quant_type": "nf4", "blocksize": 64, "shape": [6, 64], )"
                                               R"("nested_blocksize": 256, "nested_offset": {:.17g}}})",
                                               matrix.nested_offset));
  Nf4Weight weight(64, {{6}}, DoubleQuantisation::on, at::kCPU);
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf, at::kFloat}) {
    SCOPED_TRACE(c10::toString(type));
    given.packed = matrix.packed.view(type).unsqueeze(1);

    weight.take(0, given);

    EXPECT_TRUE(at::equal(weight.layers()[0].packed, matrix.packed));
  }
  given.packed = given.packed.slice(0, 1);
  EXPECT_THROW(weight.take(0, given), DataError);
}

}  // namespace
}  // namespace multicard
