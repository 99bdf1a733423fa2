#pragma once
/// \file Products of row-major matrices without gaps on the CPU, in the calling thread when inside at::parallel_for.

#include <cstdint>

namespace multicard {

/// c [rows, n] = a [rows, k] b [k, n], plus c as it was when `beta` is 1 (0: c may be uninitialised).
template <typename T>
void multiply(const T* a, const T* b, std::int64_t rows, std::int64_t k, std::int64_t n, T beta, T* c);

/// c [m, n] += a^T b with a [rows, m] and b [rows, n].
template <typename T>
void add_transposed_product(const T* a, const T* b, std::int64_t rows, std::int64_t m, std::int64_t n, T* c);

}  // namespace multicard
