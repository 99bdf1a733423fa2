#pragma once
/// \file The shards of one set of token sequences, being written.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/shards/ShardNames.hpp"
#include "io/Hdf5.hpp"
#include "prepare/sets/EncodedSet.hpp"

namespace multicard {

/// What one set of shards holds.
struct TokenSet {
  std::string prefix;
  std::int64_t num_shards = 1;
  std::vector<std::size_t> sequences;  ///< this rank's, as numbers in its EncodedSet, in the order to be stored
};

/// Over all ranks.
struct TokenTotals {
  std::int64_t num_sequences = 0;
  std::int64_t num_tokens = 0, num_trained = 0;  ///< of pairs both halves
  std::int64_t largest_id = 0;
};

/// Writes a set, all ranks together, each the sequences it has, in rank order; nothing is left of it unless commit() is
/// reached. All calls are collective and throw on all ranks alike.
class TokenWriter {
 public:
  /// `is_paired`: whether `encoded` holds pairs on any rank.
  TokenWriter(const EncodedSet& encoded, bool is_paired, TokenSet set, const Communicator& communicator);

  const TokenTotals& totals() const { return totals_; }
  const std::string& prefix() const { return set_.prefix; }
  const std::vector<std::string>& paths() const { return files_.names(); }

  void write_sequences();
  /// The same attributes for all shards, in addition to those that this class knows itself.
  void write_attributes(const std::map<std::string, Hdf5Value>& attributes);
  void commit() { files_.commit(); }

 private:
  struct Part;
  Part my_part(std::int64_t shard) const;
  void count_totals();
  void write_shard(std::int64_t shard);
  void write_half(Hdf5File& file, const std::string& group, const TokenSequences& sequences, const Part& part);

  const EncodedSet& encoded_;
  bool is_paired_;
  TokenSet set_;
  const Communicator& communicator_;
  PendingShards files_;
  TokenTotals totals_;
  std::int64_t first_sequence_ = 0;  ///< of this rank, counted over all
};

}  // namespace multicard
