#pragma once
/// \file How rows of shards are read and whether they are kept.

#include "data/ReadableDataset.hpp"

namespace multicard {

/// What is done with rows that were read.
enum class KeepRows {
  no,
  in_memory  ///< of the node, see RowCache
};

struct ShardReading {
  ReadMethod method = ReadMethod::hdf5;
  KeepRows keep = KeepRows::no;
};

}  // namespace multicard
