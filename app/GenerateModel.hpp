#pragma once
/// \file The model that the command generate asks.

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "Commands.hpp"
#include "dist/TensorCollectives.hpp"
#include "kernels/WeightFormat.hpp"
#include "nn/language/Llama.hpp"
#include "tasks/language/ProvenanceMetadata.hpp"

namespace multicard {

/// The model that answers.
struct ModelSource {
  std::string model;                              ///< folder with weights and tokenizer
  std::optional<std::string> adapter = {};        ///< PEFT folder
  ProvenanceMetadata provenance = {};             ///< of the adapter, else of the model
  std::optional<std::uint64_t> random_seed = {};  ///< of weights that are in no file
  WeightFormat format = {};                       ///< of the model
};

/// \param is_root reads a checkpoint once more, against its hashes \throws UsageError and DataError about what the
/// arguments name
ModelSource find_model(const GenerateArguments& arguments, bool is_root);

/// The hash of the base model while other work continues, where it can be compared; else no future.
std::future<std::string> hash_base(const ModelSource& source);

/// The network with its adapter or moving average, for evaluation. \param sharding collective then, and the weights are
/// split over its ranks; may be null
std::unique_ptr<Llama> load_model(const ModelSource& source, at::ScalarType dtype, at::Device device,
                                  TensorCollectives* sharding);

}  // namespace multicard
