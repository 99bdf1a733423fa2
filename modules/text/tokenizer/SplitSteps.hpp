#pragma once
/// \file The steps of pre-tokenizers.

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "text/regex/Regex.hpp"
#include "text/tokenizer/PreTokenizer.hpp"

namespace multicard {

/// What becomes of the places where a text is split.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

std::shared_ptr<const SplitStep> split_by_pattern(Regex pattern, SplitBehavior behavior);

/// The steps that a pre-tokenizer of a known type consists of; a DataError for any other.
std::vector<std::shared_ptr<const SplitStep>> make_split_steps(const nlohmann::json& description,
                                                               const std::string& type);

}  // namespace multicard
