#pragma once
/// \file Base models without weight files: config.json gives the shape, a seed the values (model.random_weights).

#include <cstdint>
#include <optional>
#include <string>

#include <c10/core/ScalarType.h>

#include "config/Deck.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

/// The seed of the base model's weights where they are randomly initialised; none where they are read from the folder.
/// @{
std::optional<std::uint64_t> random_weights_seed(const RunOptions& options);
std::optional<std::uint64_t> random_weights_seed(const Deck& deck);
/// @}

/// Identifies randomly initialised weights, as ModelFolder::sha256() those of files: the hash of the folder's
/// config.json, seed and dtype.
std::string sha256_of_random_weights(const std::string& folder, std::uint64_t seed, at::ScalarType dtype);

}  // namespace multicard
