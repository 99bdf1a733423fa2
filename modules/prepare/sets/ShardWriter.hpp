#pragma once
/// \file The shards of one set of images, being written.

#include <string>
#include <vector>

#include "data/loading/ChannelSums.hpp"
#include "data/shards/ShardNames.hpp"
#include "io/Hdf5.hpp"
#include "prepare/images/ImageSource.hpp"
#include "prepare/sets/PrepareProgress.hpp"

namespace multicard {

/// What one set of shards holds.
struct ShardSet {
  std::string prefix;
  std::int64_t num_shards = 1;
  std::vector<std::int64_t> images;  ///< places in the source, in the order to be stored
  ImageShape shape;
  std::vector<std::string> class_names;
};

/// Writes a set, all ranks together; nothing is left of it unless commit() is reached. All calls are collective and
/// throw on all ranks alike.
class ShardWriter {
 public:
  ShardWriter(const ImageSource& source, ShardSet set, const Communicator& communicator);

  /// Images and labels of all shards: every rank reads, resizes and writes an equal part of each.
  void write_images(PrepareProgress& progress);
  /// What is known only then.
  void write_attributes(const std::string& source_sha256);
  /// Gives the files their names. If that fails half-way, none keeps it.
  void commit() { files_.commit(); }

  const ShardSet& set() const { return set_; }
  const std::vector<std::string>& paths() const { return files_.names(); }

 private:
  void write_shard(std::int64_t shard, PrepareProgress& progress);
  void write_part(Hdf5Dataset& images, Hdf5Dataset& labels, std::int64_t first_of_shard, PrepareProgress& progress);
  Image stored_image(std::int64_t index) const;

  const ImageSource& source_;
  ShardSet set_;
  const Communicator& communicator_;
  PendingShards files_;
  ChannelSums sums_;
};

}  // namespace multicard
