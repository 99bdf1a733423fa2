#include "prepare/sets/TokenWriter.hpp"

#include <algorithm>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "data/shards/ShardFormat.hpp"
#include "data/shards/ShardMembership.hpp"

namespace multicard {

namespace {

/// What is put together for one write.
constexpr std::size_t kPieceTokens = std::size_t{4} << 20;

std::uint64_t extent(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

/// The datasets of one half of a shard.
struct Arrays {
  Hdf5Dataset tokens, loss_mask, offsets;
};

/// Tokens that wait until a write is worth it. Offsets are of the whole shard: a rank knows the tokens of the ranks
/// before it (write_half()), and writes the end of each of its sequences one place after its number. Place 0 is the
/// root's, and is 0.
class PieceWriter {
 public:
  PieceWriter(Arrays& arrays, std::int64_t first_sequence, std::int64_t first_token)
      : arrays_(arrays), next_sequence_(first_sequence), next_token_(first_token) {}

  void add(std::span<const std::uint32_t> tokens, std::span<const std::uint8_t> loss_mask) {
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    loss_mask_.insert(loss_mask_.end(), loss_mask.begin(), loss_mask.end());
    ends_.push_back(extent(next_token_) + tokens_.size());
    if (tokens_.size() >= kPieceTokens) flush();
  }

  void flush() {
    if (ends_.empty()) return;
    arrays_.tokens.write<std::uint32_t>({extent(next_token_)}, {tokens_.size()}, tokens_);
    arrays_.loss_mask.write<std::uint8_t>({extent(next_token_)}, {loss_mask_.size()}, loss_mask_);
    arrays_.offsets.write<std::uint64_t>({extent(next_sequence_) + 1}, {ends_.size()}, ends_);
    next_token_ += static_cast<std::int64_t>(tokens_.size());
    next_sequence_ += static_cast<std::int64_t>(ends_.size());
    tokens_.clear();
    loss_mask_.clear();
    ends_.clear();
  }

 private:
  Arrays& arrays_;
  std::int64_t next_sequence_, next_token_;
  std::vector<std::uint32_t> tokens_;
  std::vector<std::uint8_t> loss_mask_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace

/// This rank's sequences in one shard.
struct TokenWriter::Part {
  Block shard;                        ///< the shard's sequences, counted over all
  std::int64_t first = 0;             ///< place in the shard of this rank's first
  std::span<const std::size_t> mine;  ///< numbers in the EncodedSet
};

TokenWriter::TokenWriter(const EncodedSet& encoded, bool is_paired, TokenSet set, const Communicator& communicator)
    : encoded_(encoded),
      is_paired_(is_paired),
      set_(std::move(set)),
      communicator_(communicator),
      files_(set_.prefix, set_.num_shards, communicator) {
  count_totals();
}

void TokenWriter::count_totals() {
  const std::vector<std::int64_t> counts = communicator_.allgather(static_cast<std::int64_t>(set_.sequences.size()));
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    if (rank < static_cast<std::size_t>(communicator_.rank())) first_sequence_ += counts[rank];
    totals_.num_sequences += counts[rank];
  }
  const auto count = [&](const TokenSequences& sequences) {
    for (const std::size_t sequence : set_.sequences) {
      const std::span<const std::uint32_t> tokens = sequences.tokens(sequence);
      const std::span<const std::uint8_t> mask = sequences.loss_mask(sequence);
      totals_.num_tokens += static_cast<std::int64_t>(tokens.size());
      totals_.num_trained += std::count(mask.begin(), mask.end(), std::uint8_t{1});
      totals_.largest_id = std::max(totals_.largest_id, std::int64_t{*std::max_element(tokens.begin(), tokens.end())});
    }
  };
  count(encoded_.chosen);
  if (is_paired_) count(encoded_.rejected);
  totals_.num_tokens = communicator_.allreduce(totals_.num_tokens, ReduceOp::sum);
  totals_.num_trained = communicator_.allreduce(totals_.num_trained, ReduceOp::sum);
  totals_.largest_id = communicator_.allreduce(totals_.largest_id, ReduceOp::max);
}

// Sequences stay on the rank that has made them, in rank order. Shards are cut by number, independently of ranks: a
// rank may have a part of several shards, or none of one.
TokenWriter::Part TokenWriter::my_part(std::int64_t shard) const {
  Part part;
  part.shard = block_of(totals_.num_sequences, shard, set_.num_shards);
  const auto num_mine = static_cast<std::int64_t>(set_.sequences.size());
  const auto local = [&](std::int64_t sequence) {
    return std::clamp<std::int64_t>(sequence - first_sequence_, 0, num_mine);
  };
  const std::int64_t first = local(part.shard.first), last = local(part.shard.first + part.shard.count);
  part.first = first_sequence_ + first - part.shard.first;
  part.mine =
      std::span(set_.sequences).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  return part;
}

void TokenWriter::write_sequences() {
  for (std::int64_t shard = 0; shard < set_.num_shards; ++shard)
    write_shard(shard);
}

void TokenWriter::write_shard(std::int64_t shard) {
  const Part part = my_part(shard);
  Hdf5File file = Hdf5File::create(files_.path(shard), communicator_);
  try {
    write_half(file, is_paired_ ? token_format::kChosen : "", encoded_.chosen, part);
    if (is_paired_) write_half(file, token_format::kRejected, encoded_.rejected, part);
  } catch (const Error&) {
    // All ranks are here; left open, the file could not be removed everywhere.
    file.close();
    throw;
  }
  file.close();
}

void TokenWriter::write_half(Hdf5File& file, const std::string& group, const TokenSequences& sequences,
                             const Part& part) {
  std::int64_t my_tokens = 0, first_token = 0, all_tokens = 0;
  for (const std::size_t sequence : part.mine)
    my_tokens += static_cast<std::int64_t>(sequences.length(sequence));
  const std::vector<std::int64_t> tokens_of_ranks = communicator_.allgather(my_tokens);
  for (std::size_t rank = 0; rank < tokens_of_ranks.size(); ++rank) {
    if (rank < static_cast<std::size_t>(communicator_.rank())) first_token += tokens_of_ranks[rank];
    all_tokens += tokens_of_ranks[rank];
  }
  Arrays arrays{file.create_dataset<std::uint32_t>(group + token_format::kTokens, {extent(all_tokens)}),
                file.create_dataset<std::uint8_t>(group + token_format::kLossMask, {extent(all_tokens)}),
                file.create_dataset<std::uint64_t>(group + token_format::kOffsets, {extent(part.shard.count) + 1})};
  agreed_after_long_work(communicator_, [&] {
    const std::uint64_t begin = 0;
    if (communicator_.is_root()) arrays.offsets.write<std::uint64_t>({0}, {1}, {&begin, 1});
    PieceWriter writer(arrays, part.first, first_token);
    for (const std::size_t sequence : part.mine)
      writer.add(sequences.tokens(sequence), sequences.loss_mask(sequence));
    writer.flush();
  });
}

void TokenWriter::write_attributes(const std::map<std::string, Hdf5Value>& attributes) {
  agreed(communicator_, [&] {
    for (std::int64_t shard = 0; communicator_.is_root() && shard < files_.size(); ++shard) {
      Hdf5File file = Hdf5File::open_update(files_.path(shard));
      file.write_attribute("/", "format", std::string(token_format::kFormat));
      file.write_attribute("/", "schema_version", token_format::kSchemaVersion);
      file.write_attribute("/", "count", totals_.num_sequences);
      file.write_attribute("/", "num_tokens", totals_.num_tokens);
      file.write_attribute("/", "num_trained", totals_.num_trained);
      file.write_attribute("/", "largest_id", totals_.largest_id);
      write_place(file, shard, files_.size());
      for (const auto& [name, value] : attributes)
        file.write_attribute("/", name, value);
      file.close();
    }
  });
}

}  // namespace multicard
