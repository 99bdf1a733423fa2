#pragma once
/// \file Writing input shards (docs/data.md).

#include <cstdint>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "prepare/images/PrepareOptions.hpp"

namespace multicard {

/// What was written.
struct PrepareResult {
  std::int64_t num_images = 0;
  std::int64_t num_skipped = 0;
  std::vector<std::string> files;
};

/// Collective. Writes the shards, all ranks together; each decodes an even part of every shard. The contents do not
/// depend on the number of ranks. Shards get their names when all of them are whole; after an error none is left.
/// \throws UsageError (options that contradict each other) and DataError (input, existing output, full disk), on all
/// ranks.
PrepareResult prepare_images(const PrepareOptions& options, const Communicator& communicator);

}  // namespace multicard
