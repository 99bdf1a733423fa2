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
#include "nn/language/LanguageFactory.hpp"
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

/// The network with its adapter or moving average, for evaluation.
std::unique_ptr<Llama> load_model(const ModelSource& source, at::ScalarType dtype, at::Device device);

/// The same on ranks that split its weights: what is to be loaded, and collectively the rest.
/// @{
NetworkPlan plan_model(const ModelSource& source, at::ScalarType dtype);
std::unique_ptr<Llama> load_model(const ModelSource& source, const NetworkPlan& plan, TensorCollectives& sharding);
/// @}

}  // namespace multicard
