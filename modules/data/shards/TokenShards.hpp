#pragma once
/// \file Token shards as one set of sequences.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "data/shards/RowCache.hpp"
#include "data/shards/ShardReading.hpp"
#include "data/shards/TokenShardFile.hpp"

namespace multicard {

/// What opening token shards finds. With it the same sequences can be opened again, on any ranks, without reading all
/// offsets and masks.
struct TokenSetScan {
  TokenSetInfo info;
  std::vector<std::string> files;
  std::vector<std::int64_t> sequences_of_files, tokens_of_files;
  std::vector<std::int64_t> files_of_sets;  ///< numbers of files
  std::vector<std::string> templates_of_sets;
  std::vector<std::int64_t> ends;         ///< of the sequences, counted over all shards
  std::vector<std::int64_t> num_targets;  ///< of the sequences
  TokenPart part = TokenPart::sequences;
};

/// Collective. Root's scan, which is null on ranks that do not have it.
std::shared_ptr<const TokenSetScan> broadcast(const std::shared_ptr<const TokenSetScan>& scan,
                                              const Communicator& communicator, int root);

/// The sequences of one or more token shards, in the order of the (sorted) files; of several sets one set after the
/// other. Lengths and numbers of targets are held in memory, tokens are read on demand.
class TokenShards {
 public:
  /// Collective. Opens the shards that a path or glob names on all ranks of `communicator`, checks that they belong
  /// together, and reads all lengths and loss masks, each rank an equal part.
  /// \throws DataError on all ranks: nothing found, not a token shard, shards that do not fit each other, damaged
  /// offsets or masks, pairs where sequences are asked for or the other way; a chunked dataset with ReadMethod::pread.
  /// EnvironmentError as RowCache.
  TokenShards(const std::string& pattern, const Communicator& communicator, const ShardReading& reading = {},
              TokenPart part = TokenPart::sequences)
      : TokenShards(std::vector<std::string>{pattern}, communicator, reading, part) {}
  /// The same for several sets, each a path or glob. They have one tokenizer, as far as they name one; info() has the
  /// template of the first that has one. \throws DataError also for a file that is in two sets
  TokenShards(const std::vector<std::string>& patterns, const Communicator& communicator,
              const ShardReading& reading = {}, TokenPart part = TokenPart::sequences);
  /// Collective. Opens shards of which everything is known.
  /// \throws DataError on all ranks where a file is gone or has another number of tokens; EnvironmentError as RowCache.
  TokenShards(std::shared_ptr<const TokenSetScan> scan, const Communicator& communicator, const ShardReading& reading);
  /// Collective over the ranks that opened the shards, as the shards are closed.
  ~TokenShards() = default;
  TokenShards(TokenShards&&) noexcept = default;
  TokenShards& operator=(TokenShards&&) noexcept = default;

  const TokenSetInfo& info() const { return scan_->info; }
  const std::vector<std::string>& files() const { return scan_->files; }
  const std::shared_ptr<const TokenSetScan>& scan() const { return scan_; }
  /// Numbers of sequences.
  std::vector<std::int64_t> sequences_of_sets() const;
  /// The first file of a set.
  const std::string& first_file_of(std::size_t set) const;
  /// Of each set, in the order of the sets: what its template is called.
  const std::vector<std::string>& templates_of_sets() const { return scan_->templates_of_sets; }
  /// "sequence 7 of data/train-00000-of-00002.h5"
  std::string name_of(std::int64_t sequence) const;
  std::int64_t length(std::int64_t sequence) const { return begin_of(sequence + 1) - begin_of(sequence); }
  /// Tokens of the sequence that are targets; the first token never is.
  std::int64_t num_targets(std::int64_t sequence) const {
    return scan_->num_targets[static_cast<std::size_t>(sequence)];
  }

  /// This rank's part of the memory that all sequences, or the first `limit`, take once they are kept; 0 when none is.
  std::int64_t kept_bytes(std::optional<std::int64_t> limit = {}) const {
    return cache_ ? cache_->bytes_of_rank(std::min(limit.value_or(info().num_sequences), info().num_sequences)) : 0;
  }

  /// Reads the first tokens.size() tokens of a sequence and as much of its loss mask (0 or 1). Not collective; any
  /// thread. \throws DataError also when a shard has been cut short since it was opened, and for a token above
  /// info().largest_id.
  void read(std::int64_t sequence, std::span<std::uint32_t> tokens, std::span<std::uint8_t> loss_mask) const;
  /// Targets among the first `num_tokens` tokens of a sequence. As read().
  std::int64_t count_targets(std::int64_t sequence, std::int64_t num_tokens) const;

 private:
  struct Shard {
    TokenShardFile file;
    std::int64_t first_sequence, first_token;
  };

  /// The first shard of a set.
  struct SetBegin {
    std::string path;
    TokenSetInfo info;
  };

  /// The shards that others are compared with.
  struct References {
    std::optional<SetBegin> set_begin;  ///< of the set that is being scanned; none before its first shard
    std::string with_tokenizer;         ///< the first file of all sets that names its tokenizer
  };

  void scan_shard(const std::string& path, const Communicator& communicator, ReadMethod method, References& references,
                  TokenSetScan& all);
  void make_cache(const Communicator& communicator);
  void count(const Communicator& communicator, TokenSetScan& set);
  /// The sequences [first, last) stand in one shard and can be read at once.
  std::int64_t end_of_piece(std::int64_t first, std::int64_t end) const;
  void count_piece(std::int64_t first, std::int64_t last, TokenSetScan& set) const;
  void read_file(std::int64_t sequence, std::span<std::uint32_t> tokens, std::span<std::uint8_t> loss_mask) const;
  void read_through_cache(std::int64_t sequence, std::span<std::uint32_t> tokens,
                          std::span<std::uint8_t> loss_mask) const;
  std::int64_t largest_id_in(std::int64_t first, std::int64_t last) const;
  const Shard& shard_of(std::int64_t sequence) const;
  /// Where the sequence begins, counted over all shards.
  std::int64_t begin_of(std::int64_t sequence) const {
    return sequence == 0 ? 0 : scan_->ends[static_cast<std::size_t>(sequence - 1)];
  }

  std::shared_ptr<const TokenSetScan> scan_;
  std::vector<Shard> shards_;
  std::unique_ptr<RowCache> cache_;  ///< of each sequence its tokens, then its loss mask; null: nothing is kept
};

}  // namespace multicard
