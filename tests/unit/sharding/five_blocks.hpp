#pragma once
/// \file Networks of five blocks, more than a rank has in place at once, for tests of what is split.

#include <memory>

#include "nn/language/LanguageFactory.hpp"
#include "unit/nn/language_models.hpp"

namespace multicard::test {

inline constexpr std::int64_t kNumBlocks = 5;

inline NetworkPlan plan_of_five_blocks(at::ScalarType weights, WeightFormat format = {}) {
  NetworkPlan plan{small_config(), weights};
  plan.config.num_layers = kNumBlocks;
  plan.format = format;
  plan.random_seed = 5;
  return plan;
}

/// One that is not split.
inline std::unique_ptr<Llama> whole_network(const NetworkPlan& plan) {
  auto network = std::make_unique<Llama>(plan.config, plan.dtype, at::kCPU, plan.format);
  network->initialise(*plan.random_seed);
  return network;
}

}  // namespace multicard::test
