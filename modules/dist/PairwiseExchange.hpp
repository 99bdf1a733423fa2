#pragma once
/// \file Messages of equal length between all ranks; for modules/dist only.

#include <cstddef>
#include <span>

#include "comm/Communicator.hpp"

namespace multicard {

/// Collective. `bytes` go from from[r] to rank r, and as many come from it into to[r], for all r but the own; less than
/// 1 GB each. Both directions of a link are busy all the time.
void pairwise_exchange(const Communicator& communicator, std::span<const std::byte* const> from,
                       std::span<std::byte* const> to, std::size_t bytes);

}  // namespace multicard
