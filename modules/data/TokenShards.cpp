#include "data/TokenShards.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "comm/Agreement.hpp"
#include "data/LongWork.hpp"
#include "data/ShardNames.hpp"

namespace multicard {

namespace {

/// Of a token and its place in the loss mask.
constexpr std::int64_t kTokenBytes = sizeof(std::uint32_t) + sizeof(std::uint8_t);

std::span<std::uint8_t> bytes_of(std::span<std::uint32_t> tokens) {
  return {reinterpret_cast<std::uint8_t*>(tokens.data()), tokens.size_bytes()};
}

/// What is read at once when all masks are counted.
constexpr std::int64_t kPieceTokens = std::int64_t{4} << 20;

/// The first token of a sequence is never a target, whatever the mask says.
std::int64_t targets_in(std::span<const std::uint8_t> loss_mask) {
  return std::count(loss_mask.begin() + 1, loss_mask.end(), std::uint8_t{1});
}

}  // namespace

TokenShards::TokenShards(const std::string& pattern, const Communicator& communicator, const ShardReading& reading,
                         TokenPart part)
    : files_(find_shards(pattern, communicator)) {
  for (const std::string& path : files_)
    open_shard(path, communicator, reading.method, part);
  if (ends_.empty()) throw DataError(fmt::format("{} holds no sequences", pattern)).on_all_ranks();
  count(communicator);
  if (reading.keep == KeepRows::in_memory) make_cache(communicator);
}

void TokenShards::make_cache(const Communicator& communicator) {
  std::vector<std::int64_t> ends;
  for (const std::int64_t end : ends_)
    ends.push_back(kTokenBytes * end);
  cache_ = std::make_unique<RowCache>(std::move(ends), communicator);
}

void TokenShards::open_shard(const std::string& path, const Communicator& communicator, ReadMethod method,
                             TokenPart part) {
  TokenShardFile file(path, communicator, method, part);
  const TokenSetInfo& found = file.info();
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(found.num_sequences) + 1);
  agreed(communicator, [&] {
    check_fits_first(path, found);
    if (communicator.is_root()) offsets = file.read_offsets();
  });
  communicator.broadcast(std::span(offsets));
  const std::int64_t first_sequence = info_.num_sequences, first_token = info_.num_tokens;
  if (shards_.empty()) {
    info_ = found;
  } else {
    info_.num_sequences += found.num_sequences;
    info_.num_tokens += found.num_tokens;
    info_.num_bytes += found.num_bytes;
    info_.largest_id =
        std::min(info_.largest_id, found.largest_id) < 0 ? kUnknownId : std::max(info_.largest_id, found.largest_id);
    ++info_.num_shards;
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    ends_.push_back(first_token + static_cast<std::int64_t>(offsets[i]));
    info_.longest = std::max(info_.longest, static_cast<std::int64_t>(offsets[i] - offsets[i - 1]));
  }
  shards_.push_back({std::move(file), first_sequence, first_token});
}

void TokenShards::check_fits_first(const std::string& path, const TokenSetInfo& found) const {
  if (shards_.empty()) return;
  const auto check = [&](const std::string& mine, const std::string& theirs, const char* what) {
    if (mine != theirs)
      throw DataError(
          fmt::format("{} and {} do not match", files_.front(), path),
          fmt::format("their {} are {} and {}", what, mine.empty() ? "none" : mine, theirs.empty() ? "none" : theirs),
          "Prepare them alike.");
  };
  check(info_.tokenizer_sha256, found.tokenizer_sha256, "tokenizers (SHA-256)");
  check(info_.template_name, found.template_name, "templates");
  check(info_.template_date, found.template_date, "dates (--date)");
}

/// The ranks read equal parts of all masks, and of all tokens where a shard does not say which is the largest.
void TokenShards::count(const Communicator& communicator) {
  const bool reads_tokens = info_.largest_id == kUnknownId;
  const Block mine = block_of(info_.num_tokens, communicator.rank(), communicator.size());
  const auto sequence_at = [&](std::int64_t token) {
    const auto found = std::upper_bound(ends_.begin(), ends_.end(), token);
    return static_cast<std::int64_t>(found - ends_.begin());
  };
  num_targets_.assign(ends_.size(), 0);
  std::int64_t largest_id = info_.largest_id;
  agreed_after_long_work(communicator, [&] {
    std::int64_t first = mine.count == 0 ? 0 : sequence_at(mine.first);
    // A sequence belongs to the rank whose part holds its first token.
    if (mine.count > 0 && begin_of(first) < mine.first) ++first;
    std::int64_t end = mine.count == 0 ? 0 : sequence_at(mine.first + mine.count - 1) + 1;
    while (first < end) {
      const std::int64_t last = end_of_piece(first, end);
      count_piece(first, last);
      if (reads_tokens) largest_id = std::max(largest_id, largest_id_in(first, last));
      first = last;
    }
  });
  communicator.allreduce(std::span(num_targets_), ReduceOp::sum);
  info_.largest_id = communicator.allreduce(largest_id, ReduceOp::max);
  for (const std::int64_t targets : num_targets_)
    info_.num_trained += targets;
}

std::int64_t TokenShards::end_of_piece(std::int64_t first, std::int64_t end) const {
  const Shard& shard = shard_of(first);
  const std::int64_t limit = std::min(end, shard.first_sequence + shard.file.info().num_sequences);
  std::int64_t last = first + 1;
  while (last < limit && ends_[static_cast<std::size_t>(last)] - begin_of(first) <= kPieceTokens)
    ++last;
  return last;
}

void TokenShards::count_piece(std::int64_t first, std::int64_t last) {
  const Shard& shard = shard_of(first);
  const std::int64_t begin = begin_of(first);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(begin_of(last) - begin));
  shard.file.read_mask(begin - shard.first_token, mask);
  for (std::int64_t sequence = first; sequence < last; ++sequence) {
    const auto part = std::span<const std::uint8_t>(mask).subspan(static_cast<std::size_t>(begin_of(sequence) - begin),
                                                                  static_cast<std::size_t>(length(sequence)));
    const auto wrong = std::find_if(part.begin(), part.end(), [](std::uint8_t value) { return value > 1; });
    if (wrong != part.end())
      throw DataError(fmt::format("{} has the value {} in its loss mask", name_of(sequence), *wrong),
                      "a token is a target (1) or not (0)");
    num_targets_[static_cast<std::size_t>(sequence)] = targets_in(part);
  }
}

std::int64_t TokenShards::largest_id_in(std::int64_t first, std::int64_t last) const {
  const Shard& shard = shard_of(first);
  std::vector<std::uint32_t> tokens(static_cast<std::size_t>(begin_of(last) - begin_of(first)));
  shard.file.read_tokens(begin_of(first) - shard.first_token, tokens);
  return *std::max_element(tokens.begin(), tokens.end());
}

const TokenShards::Shard& TokenShards::shard_of(std::int64_t sequence) const {
  const auto after =
      std::upper_bound(shards_.begin(), shards_.end(), sequence,
                       [](std::int64_t wanted, const Shard& shard) { return wanted < shard.first_sequence; });
  return *(after - 1);
}

std::string TokenShards::name_of(std::int64_t sequence) const {
  const Shard& shard = shard_of(sequence);
  return fmt::format("sequence {} of {}", sequence - shard.first_sequence, shard.file.path());
}

void TokenShards::read_file(std::int64_t sequence, std::span<std::uint32_t> tokens,
                            std::span<std::uint8_t> loss_mask) const {
  const Shard& shard = shard_of(sequence);
  const std::int64_t begin = begin_of(sequence) - shard.first_token;
  shard.file.read_tokens(begin, tokens);
  shard.file.read_mask(begin, loss_mask);
}

void TokenShards::read_through_cache(std::int64_t sequence, std::span<std::uint32_t> tokens,
                                     std::span<std::uint8_t> loss_mask) const {
  const std::int64_t mask_place = length(sequence) * std::int64_t{sizeof(std::uint32_t)};
  if (cache_->get(sequence, bytes_of(tokens)) && cache_->get(sequence, loss_mask, mask_place)) return;
  const auto whole = static_cast<std::size_t>(length(sequence));
  std::vector<std::uint32_t> all(whole);
  std::vector<std::uint8_t> row(whole * kTokenBytes);
  const auto mask = std::span(row).subspan(static_cast<std::size_t>(mask_place));
  read_file(sequence, all, mask);
  std::copy_n(bytes_of(all).begin(), mask_place, row.begin());
  cache_->put(sequence, row);
  std::copy_n(all.begin(), tokens.size(), tokens.begin());
  std::copy_n(mask.begin(), loss_mask.size(), loss_mask.begin());
}

void TokenShards::read(std::int64_t sequence, std::span<std::uint32_t> tokens,
                       std::span<std::uint8_t> loss_mask) const {
  if (cache_)
    read_through_cache(sequence, tokens, loss_mask);
  else
    read_file(sequence, tokens, loss_mask);
  for (const std::uint32_t token : tokens)
    if (token > info_.largest_id)
      throw DataError(fmt::format("{} holds the token {}", name_of(sequence), token),
                      fmt::format("the attribute largest_id says that none is above {}", info_.largest_id));
}

std::int64_t TokenShards::count_targets(std::int64_t sequence, std::int64_t num_tokens) const {
  const Shard& shard = shard_of(sequence);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(num_tokens));
  shard.file.read_mask(begin_of(sequence) - shard.first_token, mask);
  return targets_in(mask);
}

}  // namespace multicard
