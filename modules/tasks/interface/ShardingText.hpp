#pragma once
/// \file What a run says of weights that are split.

#include <cstdint>
#include <string>

#include "dist/SplitParameters.hpp"

namespace multicard {

/// "full over 4 ranks, ...", "hybrid over 2 ranks, 4 copies, ..." \param held bytes of weights on this rank
std::string sharding_text(const ShardRanks& ranks, std::int64_t held);

}  // namespace multicard
