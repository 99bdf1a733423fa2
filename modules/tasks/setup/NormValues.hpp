#pragma once
/// \file Whether batch normalisation has something to normalise.

#include <cstdint>

#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// Values that a channel has in the smallest batch norm of the deck's network, in the largest micro-batch of a step of
/// `num_rows` rows on `num_ranks` ranks: of one replica, or of all where they are synchronised. Of one value the output
/// is the norm's bias alone, whatever the image shows. Enough for all that is trained with running statistics, and for
/// language models.
std::int64_t least_norm_values(const RunOptions& options, std::int64_t num_rows, int num_ranks);

/// \throws UsageError, as all ranks do, where that is one
void check_norm_values(const RunOptions& options, std::int64_t num_rows, int num_ranks);

}  // namespace multicard
