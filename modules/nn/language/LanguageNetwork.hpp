#pragma once
/// \file What language networks take from the files of models, checkpoints and adapters.

#include <cstdint>
#include <string>

#include "nn/language/Llama.hpp"
#include "state/ModelFolder.hpp"
#include "state/PeftAdapter.hpp"

namespace multicard {

/// Where the files of a model keep the weights of its output layer.
inline OutputLayer output_layer_of(const LlamaConfig& config) {
  return config.has_tied_embeddings ? OutputLayer::tied : OutputLayer::own;
}

/// Identifies randomly initialised weights, as ModelFolder::sha256() those of files: the hash of the folder's
/// config.json, seed and dtype.
std::string sha256_of_random_weights(const std::string& folder, std::uint64_t seed, at::ScalarType dtype);

/// The file of a checkpoint's folder that holds what was trained: the moving average where there is one, else the
/// adapter, else the weights.
std::string tuned_file_of(const std::string& folder);

/// Gives all weights the moving average of a checkpoint of full tuning. \throws DataError about the file
void load_average(Llama& network, const std::string& checkpoint);

/// What a network has to be given for an adapter's settings, with dropout off.
AdapterOptions adapter_options_of(const AdapterConfig& config, NameMatcher matcher);

/// Freezes the network and gives it the adapters of a folder, in `dtype`, with dropout off.
void attach_adapters(Llama& network, const PeftAdapter& adapter, at::ScalarType dtype, NameMatcher matcher);

}  // namespace multicard
