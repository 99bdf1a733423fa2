#pragma once
/// \file Conditions that ranks learn of each other.

#include <functional>

#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Collective. Whether `mine` is true on any rank, or on all of them.
/// @{
bool on_any_rank(TensorCollectives& collectives, bool mine);
bool on_every_rank(TensorCollectives& collectives, bool mine);
/// @}
/// Collective. Runs `body`, which is not, or is of some of the ranks. \return whether no rank has failed; one that has
/// throws what it has ended with
bool done_on_every_rank(TensorCollectives& collectives, const std::function<void()>& body);

}  // namespace multicard
