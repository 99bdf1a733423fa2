#pragma once
/// \file Networks by the names that decks use.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/Network.hpp"

namespace multicard {

struct NetworkOptions {
  double width = 1.0;           ///< multiplier of the number of channels
  std::int64_t classes = 1000;  ///< outputs
  double dropout = 0.2;         ///< before the classifier, in training
  std::uint64_t seed = 1;       ///< of the initialisation: equal seeds give equal weights on every rank
};

/// The names make_network() knows.
std::vector<std::string> network_names();

/// A network on the CPU in float32, contiguous, in training mode. UsageError for an unknown name (names the nearest)
/// and for options out of range.
std::unique_ptr<Network> make_network(const std::string& name, const NetworkOptions& options);

}  // namespace multicard
