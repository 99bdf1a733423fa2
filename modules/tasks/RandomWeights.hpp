#pragma once
/// \file Base models without weight files: config.json gives the shape, a seed the values (model.random_weights).

#include <cstdint>
#include <optional>

#include "config/Deck.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

/// The seed of the base model's weights where they are randomly initialised; none where they are read from the folder.
/// @{
std::optional<std::uint64_t> random_weights_seed(const RunOptions& options);
std::optional<std::uint64_t> random_weights_seed(const Deck& deck);
/// @}

}  // namespace multicard
