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
/// Collective. Runs `body`, which must not be collective over all of these ranks; over some of them it may be. \return
/// whether it has succeeded on every rank; a rank whose body has thrown throws the same
bool done_on_every_rank(TensorCollectives& collectives, const std::function<void()>& body);

}  // namespace multicard
