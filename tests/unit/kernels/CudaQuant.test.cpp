// The GPU kernels that dequantise 4-bit weights, compiled as C++ and executed by the CPU (tests/cuda_shim), against the
// loops of CPUs: the same bits, in every order of threads.
#include "kernels/cuda/CudaQuant.hpp"

#include <span>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "cuda_shim/Execution.hpp"
#include "kernels/DynamicMap.hpp"
#include "kernels/cpu/FakeQuantKernelsBody.hpp"
#include "kernels/cpu/QuantKernelsBody.hpp"
#include "kernels/cpu/TensorValues.hpp"

namespace multicard {
namespace {

using cuda_shim::Execution;
using cuda_shim::ExecutionScope;
using cuda_shim::Order;

const std::vector<at::ScalarType> kTypes{at::kFloat, at::kHalf, at::kBFloat16};

void dequantise(const Nf4Matrix& matrix, std::int64_t first, const at::Tensor& values) {
  const Nf4Rows rows{&matrix, first, values};
  cuda_dequantise_nf4(std::span(&rows, 1));
}

at::Tensor bytes(std::int64_t size) {
  return at::randint(256, {size}, at::kByte);
}

/// Any codes are a matrix.
Nf4Matrix random_nf4(std::int64_t rows, std::int64_t columns, DoubleQuantisation nested) {
  Nf4Matrix matrix{rows, columns, bytes((rows * columns + 1) / 2), {}, {}, 0};
  const std::int64_t blocks = matrix.num_blocks();
  matrix.absmax = nested == DoubleQuantisation::on ? bytes(blocks) : at::rand({blocks});
  if (nested == DoubleQuantisation::off) return matrix;
  matrix.nested_absmax = at::rand({(blocks + kNf4NestedBlock - 1) / kNf4NestedBlock});
  matrix.nested_offset = 0.37F;
  return matrix;
}

at::Tensor scales_of(const Nf4Matrix& matrix) {
  if (!matrix.is_nested()) return matrix.absmax;
  at::Tensor scales = at::empty({matrix.num_blocks()});
  for (std::int64_t i = 0; i < scales.numel(); ++i) {
    const float value = signed_dynamic_map().values[matrix.absmax[i].item<int>()];
    const float scaled = value * matrix.nested_absmax[i / kNf4NestedBlock].item<float>();
    scales[i] = scaled + matrix.nested_offset;
  }
  return scales;
}

/// Memory for values that begins after a multiple of 16 bytes, or at one.
at::Tensor place_for(std::int64_t rows, std::int64_t columns, at::ScalarType dtype, std::int64_t shift) {
  return at::empty({rows * columns + shift}, dtype).narrow(0, shift, rows * columns).view({rows, columns});
}

void in_every_order(const std::function<void(at::ScalarType dtype, std::int64_t shift)>& body) {
  for (const Order order : {Order::ascending, Order::descending, Order::shuffled})
    for (const at::ScalarType dtype : kTypes)
      for (const std::int64_t shift : {0, 1}) {
        SCOPED_TRACE(std::string(c10::toString(dtype)) + ", shift " + std::to_string(shift));
        const ExecutionScope scope(Execution{order, 1, {}});
        body(dtype, shift);
      }
}

TEST(CudaQuant, Nf4HasTheBitsOfCpus) {
  for (const DoubleQuantisation nested : {DoubleQuantisation::on, DoubleQuantisation::off})
    for (const auto& [rows, columns] : {std::pair(300, 64), std::pair(7, 100), std::pair(1, 3), std::pair(64, 160)})
      in_every_order([&, rows = rows, columns = columns](at::ScalarType dtype, std::int64_t shift) {
        const Nf4Matrix matrix = random_nf4(rows, columns, nested);
        const at::Tensor found = place_for(rows, columns, dtype, shift), expected = at::empty({rows, columns}, dtype);
        with_storage(dtype, [&]<typename S>() {
          kQuantKernels<S>.nf4_values(matrix.packed.const_data_ptr<std::uint8_t>(),
                                      scales_of(matrix).const_data_ptr<float>(), expected.numel(),
                                      mutable_values_of<S>(expected));
        });

        dequantise(matrix, 0, found);

        EXPECT_TRUE(found.equal(expected)) << rows << " x " << columns;
      });
}

TEST(CudaQuant, Nf4RowsOfAPartAreThoseOfTheWhole) {
  const Nf4Matrix matrix = random_nf4(400, 96, DoubleQuantisation::on);
  const at::Tensor whole = at::empty({400, 96}), part = at::empty({6, 96});

  dequantise(matrix, 0, whole);
  dequantise(matrix, 390, part);  // after the first block of scales

  EXPECT_TRUE(part.equal(whole.narrow(0, 390, 6)));
}

TEST(CudaQuant, Nf4RowsOfManyMatricesAreThoseOfEach) {
  in_every_order([](at::ScalarType dtype, std::int64_t shift) {
    std::vector<Nf4Matrix> matrices;
    for (std::int64_t i = 0; i < 11; ++i)  // more than a launch takes, some of them nested, one much larger
      matrices.push_back(
          random_nf4(i == 4 ? 700 : 2 + i, 64, i % 2 ? DoubleQuantisation::on : DoubleQuantisation::off));
    std::vector<Nf4Rows> rows;
    for (const Nf4Matrix& matrix : matrices)
      rows.push_back({&matrix, 1, place_for(matrix.rows - 1, 64, dtype, shift)});
    rows.push_back({&matrices[0], 0, at::empty({0, 64}, dtype)});

    cuda_dequantise_nf4(rows);

    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const at::Tensor expected = at::empty(rows[i].values.sizes(), dtype);
      dequantise(matrices[i], 1, expected);
      EXPECT_TRUE(rows[i].values.equal(expected)) << "matrix " << i;
    }
  });
}

TEST(CudaQuant, Int4HasTheBitsOfCpus) {
  for (const std::int64_t group : {2, 6, 32, 256})
    in_every_order([&](at::ScalarType dtype, std::int64_t shift) {
      const std::int64_t rows = 37, columns = 3 * group;
      const Int4Matrix matrix{rows, columns, group, bytes(rows * columns / 2).view({rows, -1}), at::rand({rows, 3})};
      const at::Tensor found = place_for(rows, columns, dtype, shift), expected = at::empty({rows, columns}, dtype);
      with_storage(dtype, [&]<typename S>() {
        kFakeQuantKernels<S>.int4_values(matrix.packed.const_data_ptr<std::uint8_t>(),
                                         matrix.scales.const_data_ptr<float>(), rows * 3, group,
                                         mutable_values_of<S>(expected));
      });

      cuda_dequantise_int4(matrix, 0, found);
      EXPECT_TRUE(found.equal(expected)) << "groups of " << group;

      const at::Tensor part = at::empty({4, columns}, dtype);
      cuda_dequantise_int4(matrix, 33, part);
      EXPECT_TRUE(part.equal(expected.narrow(0, 33, 4))) << "groups of " << group;
    });
}

TEST(CudaQuant, FillsNoRows) {
  const Nf4Matrix nf4 = random_nf4(64, 64, DoubleQuantisation::on);
  const Int4Matrix int4{64, 64, 32, bytes(64 * 32).view({64, 32}), at::rand({64, 2})};

  for (const at::ScalarType dtype : kTypes) {
    EXPECT_NO_THROW(dequantise(nf4, 0, at::empty({0, 64}, dtype)));
    EXPECT_NO_THROW(cuda_dequantise_int4(int4, 0, at::empty({0, 64}, dtype)));
  }
}

}  // namespace
}  // namespace multicard
