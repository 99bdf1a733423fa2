#pragma once
/// \file Networks of images, by the names that decks use.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/vision/Network.hpp"

namespace multicard {

struct NetworkOptions {
  double width = 1.0;           ///< multiplier of the number of channels; mobilenet_v2 alone takes others than 1
  std::int64_t classes = 1000;  ///< outputs
  /// Before the classifier, in training; none: as the network's definition. ResNets have none and take 0 only.
  std::optional<double> dropout = std::nullopt;
  /// Probability that the deepest residual blocks leave out a row, in training (less in the others); none: as the
  /// network's definition. Only EfficientNets take others than 0.
  std::optional<double> stochastic_depth = std::nullopt;
  std::uint64_t seed = 1;  ///< of the initialisation: equal seeds give equal weights on every rank
};

/// The names make_network() knows.
std::vector<std::string> network_names();

/// Pixels along a side of the image for each place of the last, smallest map of a network: an image of n x n pixels
/// becomes ceil(n / stride) x ceil(n / stride). \throws as make_network for an unknown name
std::int64_t total_stride(const std::string& name);

/// A network on the CPU in float32, contiguous, in training mode. UsageError for an unknown name (names the nearest),
/// for options out of range and for options that the network has not.
std::unique_ptr<Network> make_network(const std::string& name, const NetworkOptions& options);

/// The same with the weights of a safetensors file or of a checkpoint's folder. Where they have another number of
/// classes, all but the classifier is taken from them, and the classifier is initialised. DataError about the file.
std::unique_ptr<Network> make_network(const std::string& name, const NetworkOptions& options,
                                      const std::string& weights);

}  // namespace multicard
