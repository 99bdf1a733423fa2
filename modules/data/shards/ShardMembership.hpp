#pragma once
/// \file Which set a shard belongs to, and whether files are one set.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/shards/FileSets.hpp"
#include "data/shards/ShardFormat.hpp"
#include "io/Hdf5.hpp"

namespace multicard {

/// What a shard says of its set. Shards of other programs, and of earlier versions, may say less or nothing.
struct ShardMembership {
  std::optional<std::int64_t> count;         ///< images or sequences of the whole set
  std::optional<std::int64_t> shard;         ///< which of the set's shards it is, from 0
  std::map<std::string, std::string> marks;  ///< attributes that all shards of a set share, as texts
  std::vector<std::string> unknown = {};     ///< names of what it holds that is not read (ShardContents.hpp)
};

/// \throws DataError as unknown_contents()
ShardMembership membership_of(const Hdf5File& file, ShardKind kind);
/// Adds the attributes `shard` and `num_shards`.
void write_place(Hdf5File& file, std::int64_t shard, std::int64_t num_shards);

/// Sees that files are shards of one set, each of them once. The same on all ranks.
class ShardSetCheck {
 public:
  /// \param pattern names the files \param unit what a row is, in the plural
  ShardSetCheck(std::string pattern, std::string unit) : pattern_(std::move(pattern)), unit_(std::move(unit)) {}

  /// \throws DataError for a shard of another set than the first, or one that is there already
  void add(const std::string& path, const ShardMembership& shard, std::int64_t num_rows);
  /// For shards that do not say which part of a set they are. \throws DataError where an earlier one has the same
  /// labels and the same first and last image
  void add_rows(const std::string& path, std::span<const std::int32_t> labels, std::span<const std::uint8_t> ends);
  /// When all are added: `labels` of all rows, in the order of the files. \throws DataError on all ranks where a whole
  /// set, whose files are in their order, says that it has others: they were changed
  void require_labels(std::span<const std::int32_t> labels) const;
  /// When all are added. A part of a set and what the shards hold that is not read are named in warnings. \throws
  /// DataError on all ranks when there is more than a set has
  void finish() const;

 private:
  void warn_of_missing_files() const;

  std::string pattern_, unit_;
  std::string first_path_;
  ShardMembership first_;
  std::map<std::int64_t, std::string> path_of_shard_;
  std::set<std::string> unknown_;
  std::int64_t num_rows_ = 0, num_files_ = 0;
  bool is_in_order_ = true;  ///< the files are shards 0, 1, 2 and so on
  RowCopies copies_;
};

}  // namespace multicard
