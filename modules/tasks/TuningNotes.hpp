#pragma once
/// \file What has to be known of a tuned model beside its weights.

#include <optional>
#include <string>

#include "io/Safetensors.hpp"

namespace multicard {

/// What a checkpoint's trainer.json, or the header of exported weights, says of the training.
struct TuningNotes {
  std::string template_name;               ///< of the prompts; empty: not known
  std::string template_date;               ///< that it wrote, YYYY-MM-DD; empty: not known
  std::optional<std::string> base_sha256;  ///< of the weights of the base model
};

/// The notes of a folder; empty ones where it holds none. \throws DataError for a damaged file
TuningNotes read_tuning_notes(const std::string& folder);

/// What exported weights get into their header; PEFT and transformers pass it over.
SafetensorsMetadata metadata_of(const TuningNotes& notes);

/// \throws DataError when the notes of `folder` name a base model of another hash than `base_sha256`, that of `base`.
void check_base(const TuningNotes& notes, const std::string& base_sha256, const std::string& folder,
                const std::string& base);

}  // namespace multicard
