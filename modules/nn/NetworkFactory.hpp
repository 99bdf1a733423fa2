#pragma once
/// \file Networks of both kinds: those of images by the names that decks use, those of language by their model folders.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "nn/BaseWeight.hpp"
#include "nn/Network.hpp"

namespace multicard {

class Llama;
struct LlamaConfig;

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

enum class WeightsOf { files, chance };
/// What a model folder's config.json says, and of a folder in NF4 which linear layers are whole: as its files are, or
/// without files as its quantization_config says. \throws DataError as LlamaConfig::read() and ModelFolder::open()
LlamaConfig network_config_of(const std::string& folder, WeightsOf weights);

/// The language network that a model folder's config.json describes, with its weights in `dtype`, or with randomly
/// initialised ones where there is a `random_seed`: then config.json alone is read. Weights of another format are
/// quantised one by one while they are read. DataError about the files.
std::unique_ptr<Llama> load_network(const std::string& folder, at::ScalarType dtype, at::Device device,
                                    std::optional<std::uint64_t> random_seed = std::nullopt, WeightFormat format = {});
/// The first `num_layers` layers of that network, with embedding and lm_head, all weights zero (those in 4 bits as they
/// happen to be): for measuring. Blocks are equal: where a folder in NF4 keeps a layer of some blocks whole, here it is
/// in NF4.
std::unique_ptr<Llama> zero_network(const std::string& folder, at::ScalarType dtype, at::Device device,
                                    std::int64_t num_layers, WeightFormat format);
/// How many bytes the weights of load_network() take beyond those of zero_network() with all layers.
std::int64_t bytes_beyond_equal_blocks(const std::string& folder, at::ScalarType dtype, WeightFormat format);

}  // namespace multicard
