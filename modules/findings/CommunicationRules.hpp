#pragma once
/// \file The rules about time that ranks spend on communication; for modules/findings only.

#include "findings/Finding.hpp"
#include "findings/RunFacts.hpp"

namespace multicard {

/// \name Rules: an empty finding where there is nothing to say. The first that applies speaks.
/// @{
Finding slow_link(const RunFacts& facts);
Finding small_buckets(const RunFacts& facts);
Finding exposed_communication(const RunFacts& facts);
/// @}

}  // namespace multicard
