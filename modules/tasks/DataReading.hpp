#pragma once
/// \file How a deck wants shards to be read; for modules/tasks only.

#include "config/RunOptions.hpp"
#include "data/ShardReading.hpp"

namespace multicard {

inline ShardReading shard_reading(const DataOptions& data) {
  return {data.read == "pread" ? ReadMethod::pread : ReadMethod::hdf5,
          data.cache == "ram" ? KeepRows::in_memory : KeepRows::no};
}

}  // namespace multicard
