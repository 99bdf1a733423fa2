#pragma once
/// \file Keys and values that decks may name but that this version does not offer.

#include "config/Section.hpp"

namespace multicard {

/// Makes the keys of the table in Unavailable.cpp known and keeps back an error for each value that is not available.
void refuse_unavailable(Section& root, const Deck& deck);

/// Whether refuse_unavailable() has a word to say on this value of method.name, which is none of a typing error.
bool is_later_method(const std::string& name);

}  // namespace multicard
