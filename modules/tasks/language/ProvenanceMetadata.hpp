#pragma once
/// \file Where tuned weights come from: prompt template and base model.

#include <optional>
#include <string>

#include "io/Safetensors.hpp"

namespace multicard {

/// What a checkpoint's trainer.json, or the header of exported weights, says of the training.
struct ProvenanceMetadata {
  std::string template_name;               ///< of the prompts; empty: not known
  std::string template_date;               ///< that it wrote, YYYY-MM-DD; empty: not known
  std::optional<std::string> base_sha256;  ///< of the weights of the base model
};

/// What a folder says; empty where it says nothing. \throws DataError for a damaged file
ProvenanceMetadata read_provenance(const std::string& folder);

/// What exported weights get into their header; PEFT and transformers pass it over.
SafetensorsMetadata metadata_of(const ProvenanceMetadata& provenance);

/// \throws DataError when the provenance of `folder` names a base model of another hash than `base_sha256`, that of
/// `base`.
void check_base(const ProvenanceMetadata& provenance, const std::string& base_sha256, const std::string& folder,
                const std::string& base);

}  // namespace multicard
