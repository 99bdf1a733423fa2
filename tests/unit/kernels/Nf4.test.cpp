// NF4 against bitsandbytes (tests/data/oracles/nf4/README.md).

#include "kernels/Nf4.hpp"

#include <fstream>
#include <limits>
#include <vector>

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernels/cpu/TensorValues.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"
#include "unit/kernels/available_kernels.hpp"

namespace multicard {
namespace {

std::string oracle_path(const std::string& file) {
  return test::source_path("tests/data/oracles/nf4/" + file).string();
}

/// A weight and what bitsandbytes made of it.
class Nf4Oracle : public testing::TestWithParam<const char*> {
 protected:
  at::Tensor tensor(const std::string& what) { return file_.load(std::string(GetParam()) + "." + what); }
  double offset() const {
    const auto oracle = nlohmann::json::parse(std::ifstream(oracle_path("oracle.json")));
    return oracle.at("weights").at(GetParam()).at("nested_offset").get<double>();
  }
  /// bitsandbytes' own codes and scales, with double quantisation.
  Nf4Matrix theirs() {
    const at::Tensor weight = tensor("weight");
    return {weight.size(0),
            weight.size(1),
            tensor("dq.packed"),
            tensor("dq.absmax"),
            tensor("dq.nested_absmax"),
            static_cast<float>(offset())};
  }

  TensorFile file_{oracle_path("tensors.safetensors")};
};

TEST_P(Nf4Oracle, PackedBytesAndScalesAreBitsandbytes) {
  const Nf4Matrix ours = quantise_nf4(tensor("weight"), DoubleQuantisation::off);

  EXPECT_TRUE(at::equal(ours.packed, tensor("sq.packed")));
  EXPECT_TRUE(at::equal(ours.absmax, tensor("sq.absmax")));
  EXPECT_TRUE(at::equal(dequantise_nf4(ours, at::kFloat), tensor("sq.dequantised")));
}

TEST_P(Nf4Oracle, ScalesAreQuantisedAsBitsandbytesDo) {
  const Nf4Matrix ours = quantise_nf4(tensor("weight"), DoubleQuantisation::on);

  EXPECT_TRUE(at::equal(ours.packed, tensor("dq.packed")));
  EXPECT_NEAR(ours.nested_offset, offset(), 1e-6 * std::abs(offset()));
  EXPECT_TRUE(at::allclose(ours.nested_absmax, tensor("dq.nested_absmax"), 1e-5, 1e-6 * std::abs(offset())));
  if (ours.nested_absmax.max().item<float>() < 1e-6 * std::abs(offset())) return;  // equal scales: codes mean nothing
  EXPECT_TRUE(at::equal(ours.absmax, tensor("dq.absmax")));
}

TEST_P(Nf4Oracle, TheirCodesGiveTheirValues) {
  const Nf4Matrix theirs = this->theirs();

  EXPECT_TRUE(at::equal(nf4_scales(theirs), tensor("dq.absmax_restored")));
  EXPECT_TRUE(at::equal(dequantise_nf4(theirs, at::kFloat), tensor("dq.dequantised")));
}

INSTANTIATE_TEST_SUITE_P(Weights, Nf4Oracle,
                         testing::Values("normal_128x384", "base_q_proj", "base_down_proj", "outliers_64x128",
                                         "zero_block_32x64", "uniform_40x100", "tiny_scale_16x64", "boundaries_2x64"));

TEST(Nf4, OtherTypesAreTheFloatValuesRounded) {
  const Nf4Matrix matrix = quantise_nf4(at::randn({48, 100}), DoubleQuantisation::on);
  const at::Tensor values = dequantise_nf4(matrix, at::kFloat);

  for (const at::ScalarType dtype : {at::kDouble, at::kBFloat16, at::kHalf})
    EXPECT_TRUE(at::equal(dequantise_nf4(matrix, dtype), values.to(dtype))) << dtype;
}

// Also for a partial last block and for a scale that is NaN.
TEST(Nf4, EveryInstructionSetGivesTheSameBits) {
  const std::int64_t count = 5 * kNf4Block + 37;
  const at::Tensor packed = at::randint(256, {(count + 1) / 2}, at::kByte), scales = at::randn({6});
  scales[2] = std::numeric_limits<float>::quiet_NaN();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    with_storage(dtype, [&]<typename S>() {
      std::vector<at::Tensor> values;
      for (const CpuKernels<S>& kernels : available_kernels<S>()) {
        values.push_back(at::zeros({count + kNf4Block}, dtype));  // after them nothing is written
        kernels.quant->nf4_values(packed.const_data_ptr<std::uint8_t>(), scales.const_data_ptr<float>(), count,
                                  mutable_values_of<S>(values.back()));
        EXPECT_TRUE(at::equal(values.back().view(at::kByte), values.front().view(at::kByte))) << dtype;
      }
      EXPECT_GT(values.front().narrow(0, 0, kNf4Block).abs().max().item<double>(), 0);
      EXPECT_EQ(values.front().narrow(0, count, kNf4Block).abs().max().item<double>(), 0);
    });
}

TEST(Nf4, RowsOfAPartAreThoseOfTheWhole) {
  const Nf4Matrix matrix = quantise_nf4(at::randn({64, 96}), DoubleQuantisation::on);
  const at::Tensor whole = dequantise_nf4(matrix, at::kFloat);

  for (const auto& [first, count] : {std::pair(2, 4), std::pair(62, 2)}) {
    const at::Tensor part = at::zeros({count, 96});
    dequantise_nf4(matrix, first, part);
    EXPECT_TRUE(at::equal(part, whole.narrow(0, first, count)));
  }
}

TEST(Nf4, TakesFourAndAnEighthBitsAnElement) {
  const Nf4Matrix matrix = quantise_nf4(at::zeros({4096, 256}), DoubleQuantisation::on);

  EXPECT_LT(8.0 * static_cast<double>(matrix.bytes()) / static_cast<double>(matrix.num_elements()), 4.127);
  EXPECT_TRUE(at::equal(dequantise_nf4(matrix, at::kFloat), at::zeros({4096, 256})));
}

}  // namespace
}  // namespace multicard
