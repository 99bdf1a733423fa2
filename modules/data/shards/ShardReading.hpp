#pragma once
/// \file How rows of shards are read and whether they are kept.

namespace multicard {

/// Who takes bytes out of the files.
enum class ReadMethod {
  hdf5,  ///< the HDF5 library, one call of the rank at a time
  pread  ///< plain reads at the dataset's place in the file, as many at a time as there are threads
};

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
