#pragma once
/// \file What is random in a step (dropout): it differs between steps, micro-batches and replicas, and is repeatable at
/// equal ranks.

#include <cstdint>

namespace multicard {

/// The seeds of one step's micro-batches on one replica.
class StepSeeds {
 public:
  StepSeeds() = default;
  StepSeeds(std::int64_t seed, std::int64_t step, int replica)
      : seed_(static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(step) * 1000003u +
              static_cast<std::uint64_t>(replica)) {}

  /// Of the next micro-batch.
  std::uint64_t next() { return seed_ + 0xd1342543de82ef95u * num_given_++; }

 private:
  std::uint64_t seed_ = 0, num_given_ = 0;
};

}  // namespace multicard
