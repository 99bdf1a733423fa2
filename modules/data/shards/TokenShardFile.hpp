#pragma once
/// \file One token shard.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "data/shards/ReadableDataset.hpp"
#include "data/shards/ShardMembership.hpp"
#include "io/Hdf5.hpp"

namespace multicard {

/// The largest_id of a shard that does not say it.
inline constexpr std::int64_t kUnknownId = -1;

struct TokenSetInfo {
  std::int64_t num_sequences = 0;
  std::int64_t num_tokens = 0;
  std::int64_t num_trained = 0;  ///< targets
  std::int64_t num_bytes = 0;    ///< of tokens and loss masks
  std::int64_t num_shards = 0;
  std::int64_t longest = 0;      ///< tokens of the longest sequence
  std::int64_t largest_id = 0;   ///< no token is larger: a model needs a larger vocabulary
  std::string dataset_type;      ///< alpaca, chat, ..., preference, tokens
  std::string template_name;     ///< empty for text and tokens
  std::string template_date;     ///< that the template wrote, or would have written, YYYY-MM-DD
  std::string tokenizer_sha256;  ///< of the tokenizer's file; empty for tokens
  std::string loss;              ///< completion | all | labels
  std::string source;            ///< names of the input files
};

/// Which arrays of a shard are meant: its own (of preference pairs the chosen answers), or one half of its pairs.
enum class TokenPart { sequences, chosen, rejected };

/// An open shard.
class TokenShardFile {
 public:
  /// Collective. \throws DataError on all ranks: not a whole token shard, or one of the other kind (pairs or not);
  /// chunked tokens with ReadMethod::pread.
  TokenShardFile(const std::string& path, const Communicator& communicator, ReadMethod method, TokenPart part);

  /// Collective. A shard that has been looked at before, of `num_tokens` tokens: nothing but the places of tokens and
  /// masks is read. info() is empty, and there are no offsets.
  /// \throws DataError on all ranks where it has another number of tokens now
  TokenShardFile(const std::string& path, const Communicator& communicator, ReadMethod method, TokenPart part,
                 std::int64_t num_tokens);

  const std::string& path() const { return file_.path(); }
  /// Of this shard alone; num_trained and longest are left 0.
  const TokenSetInfo& info() const { return info_; }
  const ShardMembership& membership() const { return membership_; }
  /// Where each sequence begins, and the end of the last. \throws DataError unless they rise from 0 to the end.
  std::vector<std::uint64_t> read_offsets() const;
  /// Read tokens or mask from place `first` of the shard. Not collective; any thread.
  void read_tokens(std::int64_t first, std::span<std::uint32_t> tokens) const;
  void read_mask(std::int64_t first, std::span<std::uint8_t> loss_mask) const;

 private:
  Hdf5File file_;
  std::optional<Hdf5Dataset> offsets_;
  std::optional<ReadableDataset> tokens_, mask_;
  TokenSetInfo info_;
  ShardMembership membership_;
};

}  // namespace multicard
