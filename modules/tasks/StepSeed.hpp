#pragma once
/// \file What is left to chance in a step (dropout): it differs between steps, micro-batches and ranks, and is
/// repeatable at equal ranks.

#include <cstdint>

namespace multicard {

inline std::uint64_t step_seed(std::int64_t seed, std::int64_t step, int rank) {
  return static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(step) * 1000003u +
         static_cast<std::uint64_t>(rank);
}

/// Of the `index`-th micro-batch of a step.
inline std::uint64_t micro_batch_seed(std::uint64_t step_seed, std::uint64_t index) {
  return step_seed + 0xd1342543de82ef95u * index;
}

}  // namespace multicard
