#pragma once
/// \file Writing a Hugging Face model folder.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "io/Safetensors.hpp"

namespace multicard {

/// Where a file ends and the next one begins, as transformers does it.
inline constexpr std::uint64_t kMaxShardBytes = 5'000'000'000;

/// Writes weights into an existing folder tensor by tensor: model.safetensors, or model-00001-of-0000N.safetensors and
/// model.safetensors.index.json when they exceed `max_shard_bytes`. Files are filled in the order of `tensors`.
/// \param tensor_of gives the tensor of a name when its turn comes, in the announced shape and dtype, on any device
/// \param metadata of every file
/// \throws DataError for problems with a file, std::logic_error for a tensor that was announced otherwise
void write_weights(const std::string& folder, const std::vector<TensorHeader>& tensors,
                   const std::function<at::Tensor(const std::string&)>& tensor_of,
                   std::uint64_t max_shard_bytes = kMaxShardBytes,
                   const SafetensorsMetadata& metadata = {{"format", "pt"}});

/// Names of the files of the model folder `folder` that belong to the model besides its weights: config.json,
/// generation_config.json and the tokenizer's; those that are there.
std::vector<std::string> names_of_non_tensor_files(const std::string& folder);

/// What the config.json of a written model says otherwise than the one it is copied from.
struct ConfigChanges {
  at::ScalarType dtype;           ///< of the weights
  std::string quantisation = {};  ///< quantization_config, as JSON; empty: as it was
  bool unties = false;            ///< tied embeddings are tied no longer
};

/// Copies names_of_non_tensor_files() from the model folder `from` to the folder `to`. \throws DataError when `from`
/// has no config.json or it is no JSON object
void copy_model_files(const std::string& from, const std::string& to, const ConfigChanges& changes);

}  // namespace multicard
