#pragma once
// Numbers that tests can make for every rank, and their sums in rank order.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

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

}  // namespace multicard::test
