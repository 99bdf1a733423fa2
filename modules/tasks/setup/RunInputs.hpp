#pragma once
/// \file Whether the files that a run deck names are there.

#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// For one process. Opens what a run would read first, in a moment: model folder or weights, adapter, and the names of
/// the shards. \throws DataError naming the first pattern that matches no file, and the first folder or file that
/// cannot be read
void check_inputs(const RunOptions& options);

}  // namespace multicard
