#pragma once
/// \file The files of a set of shards.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "io/AtomicFile.hpp"

namespace multicard {

/// PREFIX-00000-of-00004.h5
std::string shard_path(const std::string& prefix, std::int64_t shard, std::int64_t num_shards);

/// A DataError if shards of this prefix are there already, in any number. Those of a process that was killed before all
/// of its shards had their names are removed.
void require_no_shards(const std::string& prefix);

/// Collective. The sorted files that a path or glob names on rank 0. \throws DataError on all ranks if there are
/// none, or if a shard is missing whose name the glob covers and whose siblings are there.
std::vector<std::string> find_shards(const std::string& pattern, const Communicator& communicator);

/// The shards of one set while they are written: all get their names together, or none is left.
class PendingShards {
 public:
  /// Collective.
  PendingShards(const std::string& prefix, std::int64_t num_shards, const Communicator& communicator);

  std::int64_t size() const { return static_cast<std::int64_t>(files_.size()); }
  /// Where to write a shard.
  const std::string& path(std::int64_t shard) const { return files_[static_cast<std::size_t>(shard)]->path(); }
  /// What the shards will be called.
  const std::vector<std::string>& names() const { return names_; }
  /// Collective. Gives the files their names. If that fails half-way, none keeps it.
  void commit();

 private:
  bool is_root_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<PendingFile>> files_;
};

}  // namespace multicard
