#pragma once
/// \file Weights of a network that has not been trained yet.

#include <cstdint>

#include "state/NamedTensor.hpp"
#include "state/WeightSink.hpp"

namespace multicard {

/// Fills `weights` and what `sinks` take, as functions of seed, name and element: N(0, deviation^2) for matrices, 1 for
/// norms, 0 for biases.
void fill_initial_weights(const NamedTensors& weights, const WeightSinks& sinks, double deviation, std::uint64_t seed);

/// Fills those that have memory.
void fill_zeros(const NamedTensors& weights);

/// Fills the matrices A, which stand before their B, uniformly within ±1 / √columns; B stays 0. \param adapters A and B
/// in turn
void fill_initial_adapters(const NamedTensors& adapters, std::uint64_t seed);

}  // namespace multicard
