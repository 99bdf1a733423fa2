// Packed int4 against torchao's converted layer (tests/data/oracles/qat/README.md).

#include "kernels/Int4.hpp"

#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "kernels/FakeQuant.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

at::Tensor oracle(const std::string& name) {
  return TensorFile(test::source_path("tests/data/oracles/qat/tensors.safetensors").string()).load(name);
}

TEST(Int4, CodesAndScalesAreTorchaos) {
  const Int4Matrix matrix = quantise_int4(oracle("converted.trained_weight"), 32);

  const TorchaoInt4 tensors = torchao_of(matrix);

  EXPECT_TRUE(at::equal(tensors.weight, oracle("converted.int4_as_int8")));
  EXPECT_TRUE(at::equal(tensors.scales, oracle("converted.scales")));
  EXPECT_TRUE(at::equal(tensors.zeros, oracle("converted.zeros")));
}

TEST(Int4, TorchaosTensorsArePackedAsOurs) {
  const Int4Matrix ours = quantise_int4(oracle("converted.trained_weight"), 32);

  const Int4Matrix theirs =
      int4_of({oracle("converted.int4_as_int8"), oracle("converted.scales"), oracle("converted.zeros")});

  EXPECT_TRUE(at::equal(theirs.packed, ours.packed));
  EXPECT_TRUE(at::equal(theirs.scales, ours.scales));
  EXPECT_EQ(theirs.group_size, 32);
  EXPECT_EQ(theirs.rows, 128);
  EXPECT_EQ(theirs.columns, 128);
}

TEST(Int4, ValuesAreTheFakeQuantisedOnes) {
  for (const std::int64_t group : {2, 6, 32, 96})
    for (const double factor : {1.0, 1e-30, 1e-41}) {
      const at::Tensor weight = at::randn({37, 192}, at::kDouble).mul(factor).to(at::kFloat);

      const Int4Matrix matrix = quantise_int4(weight, group);

      EXPECT_TRUE(at::equal(dequantise_int4(matrix, at::kFloat), fake_int4(weight, group, at::kFloat))) << group;
    }
}

TEST(Int4, OtherTypesAreTheFloatValuesRounded) {
  const Int4Matrix matrix = quantise_int4(at::randn({300, 256}), 64);
  const at::Tensor values = dequantise_int4(matrix, at::kFloat);

  for (const at::ScalarType dtype : {at::kDouble, at::kBFloat16, at::kHalf})
    EXPECT_TRUE(at::equal(dequantise_int4(matrix, dtype), values.to(dtype))) << dtype;
}

TEST(Int4, RowsOfAPartAreThoseOfTheWhole) {
  const Int4Matrix matrix = quantise_int4(at::randn({64, 96}), 32);
  const at::Tensor part = at::empty({5, 96});

  dequantise_int4(matrix, 58, part);

  EXPECT_TRUE(at::equal(part, dequantise_int4(matrix, at::kFloat).narrow(0, 58, 5)));
}

TEST(Int4, TakesFourAndAnEighthBitsAnElement) {
  const Int4Matrix matrix = quantise_int4(at::randn({64, 4096}), 256);

  EXPECT_EQ(matrix.bytes() * 8, 64 * 4096 * 4 + 64 * 16 * 32);
}

TEST(Int4, RefusesTensorsThatCannotBeInt4) {
  const at::Tensor codes = oracle("converted.int4_as_int8"), scales = oracle("converted.scales");
  const at::Tensor zeros = oracle("converted.zeros");
  at::Tensor large = codes.clone();
  large[3][4] = 8;

  EXPECT_THROW(int4_of({large, scales, zeros}), std::invalid_argument);
  EXPECT_THROW(int4_of({codes.to(at::kShort), scales, zeros}), std::invalid_argument);
  EXPECT_THROW(int4_of({codes, scales.narrow(1, 0, 3), zeros.narrow(1, 0, 3)}), std::invalid_argument);
  EXPECT_THROW(int4_of({codes, scales.narrow(0, 0, 3), zeros.narrow(0, 0, 3)}), std::invalid_argument);
  EXPECT_THROW(int4_of({codes, scales.to(at::kDouble), zeros}), std::invalid_argument);
  EXPECT_THROW(int4_of({codes, scales, at::full({128, 4}, 1.0)}), std::invalid_argument);
}

}  // namespace
}  // namespace multicard
