#pragma once
/// \file Random numbers that are functions of a seed and an index, equal on every rank.

#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace multicard {

/// The seed of one of the many uses of `seed`.
std::uint64_t seed_of_stream(std::uint64_t seed, std::uint64_t stream);

/// The stream of a tensor of this name: FNV-1a.
std::uint64_t stream_of_name(std::string_view name);

/// Values of N(0, deviation^2), float32 on the CPU. `stream` separates the tensors of one seed.
at::Tensor normal_values(at::IntArrayRef sizes, double deviation, std::uint64_t seed, std::uint64_t stream);
/// Values between -bound and bound, float32 on the CPU.
at::Tensor uniform_values(at::IntArrayRef sizes, double bound, std::uint64_t seed, std::uint64_t stream);

/// The values of normal_values() (but for the last digits, on a GPU) in `out`, of any device and dtype, whose gradient
/// mode is off; on a GPU they are made there.
void fill_normal(at::Tensor& out, double deviation, std::uint64_t seed, std::uint64_t stream);
/// Values in (-1, 1], float64 [keys, columns] on the device of the int64 `keys`: a function of the row's key and the
/// column.
at::Tensor uniform_rows(const at::Tensor& keys, std::int64_t columns);
/// Number `index` of a sequence of values in (0, 1].
double uniform_value(std::uint64_t seed, std::uint64_t index);

/// x with each value zeroed with `probability` (below 1) and the others divided by (1 - probability). The choice
/// depends on `seed` and the index of the element alone, whatever device or dtype.
at::Tensor seeded_dropout(const at::Tensor& x, double probability, std::uint64_t seed);
/// The same for whole rows of x [N, C, H, W]: stochastic depth (Huang et al. 2016, arXiv 1603.09382).
at::Tensor seeded_row_dropout(const at::Tensor& x_NCHW, double probability, std::uint64_t seed);

}  // namespace multicard
