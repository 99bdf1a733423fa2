#pragma once
/// \file Which decks may resume a run.

#include "config/Deck.hpp"

namespace multicard {

/// Checks that `now` may resume a run that began with `before` (both with defaults written out): the keys that
/// DeckKey::is_fixed() names are the same. Ranks, strategy, loader options, steps and epochs may differ.
/// \throws UsageError naming the first key that differs and both values.
void check_resume_compatibility(const Deck& before, const Deck& now);

}  // namespace multicard
