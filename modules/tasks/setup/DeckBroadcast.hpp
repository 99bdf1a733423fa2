#pragma once
/// \file One deck for all ranks.

#include <functional>
#include <string>

#include "comm/Communicator.hpp"
#include "config/Deck.hpp"

namespace multicard {

/// Collective. Rank 0 reads the deck with `load` and sends it to the others, so that ranks cannot differ.
Deck share_deck(const Communicator& world, const std::string& name, const std::function<Deck()>& load);

}  // namespace multicard
