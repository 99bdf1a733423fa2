#pragma once
/// \file A file that all ranks write together.

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/Communicator.hpp"

namespace multicard {

/// Collective. Writes what each rank has, in the order of ranks, as one file that appears when it is whole (see
/// PendingFile). Returns its length. \throws DataError on all ranks
std::int64_t write_in_rank_order(const std::string& path, const Communicator& communicator, std::string_view mine);

}  // namespace multicard
