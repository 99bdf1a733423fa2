#pragma once
/// \file What a deck says of its base model's weights.

#include <cstdint>
#include <optional>

#include "config/Deck.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// The seed of the base model's weights where they are randomly initialised (model.random_weights: config.json alone
/// gives the shape); none where they are read from the folder.
/// @{
std::optional<std::uint64_t> random_weights_seed(const RunOptions& options);
std::optional<std::uint64_t> random_weights_seed(const Deck& deck);
/// @}

/// How the deck of a language model stores them. Reads no other keys: those of a checkpoint's deck may be of an older
/// version.
WeightFormat weight_format(const Deck& deck);

}  // namespace multicard
