#pragma once
// Numbers that tests can make for every rank, and their sums in rank order.

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "dist/TensorCollectives.hpp"

namespace multicard::test {

/// The i-th value of a rank: of mixed size and sign, so that the order of a sum shows in its last bits.
template <class T>
T value_of(int rank, std::int64_t i, int salt = 0) {
  std::uint64_t x =
      static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(rank * 97 + salt);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27;
  const double unit = static_cast<double>(x >> 11) * 0x1p-53 - 0.5;
  return static_cast<T>(unit * (x % 3 == 0 ? 1e4 : 1));
}

template <class T>
constexpr at::ScalarType type_of = sizeof(T) == 4 ? at::kFloat : at::kDouble;

template <class T>
void fill(const at::Tensor& flat, int rank, int salt = 0) {
  T* data = flat.data_ptr<T>();
  for (std::int64_t i = 0; i < flat.numel(); ++i)
    data[i] = value_of<T>(rank, i, salt);
}

template <class T>
at::Tensor values(std::int64_t numel, int rank, int salt = 0) {
  const at::Tensor flat = at::empty({numel}, at::TensorOptions().dtype(type_of<T>));
  fill<T>(flat, rank, salt);
  return flat;
}

/// ((v0 + v1) + v2) + ...
template <class T>
T sum_in_order(int num_ranks, std::int64_t i, int salt = 0) {
  T sum = value_of<T>(0, i, salt);
  for (int r = 1; r < num_ranks; ++r)
    sum += value_of<T>(r, i, salt);
  return sum;
}

/// The first index whose value is not, bit for bit, the sum in rank order; -1 when all are.
template <class T>
std::int64_t first_wrong(const at::Tensor& flat, int num_ranks, int salt = 0) {
  const T* data = flat.const_data_ptr<T>();
  for (std::int64_t i = 0; i < flat.numel(); ++i)
    if (data[i] != sum_in_order<T>(num_ranks, i, salt)) return i;
  return -1;
}

/// A value rounded to the communication dtype.
inline float rounded(float value, CommDtype comm_dtype) {
  if (comm_dtype == CommDtype::bf16) return static_cast<float>(static_cast<c10::BFloat16>(value));
  return comm_dtype == CommDtype::fp16 ? static_cast<float>(static_cast<c10::Half>(value)) : value;
}

/// The i-th value of a rank.
using Value = std::function<float(int rank, std::int64_t i)>;

/// The sum as documented: in rank order inside each node, then in the order of nodes.
inline float rounded_sum(const std::vector<std::vector<int>>& nodes, const Value& value, std::int64_t i,
                         CommDtype comm_dtype) {
  const auto add_up = [&](std::size_t count, const auto& term) {
    float sum = term(0);
    for (std::size_t t = 1; t < count; ++t)
      sum += term(t);
    return rounded(sum, comm_dtype);
  };
  return add_up(nodes.size(), [&](std::size_t n) {
    return add_up(nodes[n].size(), [&](std::size_t r) { return rounded(value(nodes[n][r], i), comm_dtype); });
  });
}

/// The first index whose value is not, bit for bit, that sum; any NaN is as good as another. -1 when all are.
inline std::int64_t first_wrong(const at::Tensor& flat, const std::vector<std::vector<int>>& nodes, const Value& value,
                                CommDtype comm_dtype) {
  const float* data = flat.const_data_ptr<float>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const float expected = rounded_sum(nodes, value, i, comm_dtype);
    const bool same = std::isnan(expected) ? std::isnan(data[i])
                                           : data[i] == expected && std::signbit(data[i]) == std::signbit(expected);
    if (!same) return i;
  }
  return -1;
}

}  // namespace multicard::test
