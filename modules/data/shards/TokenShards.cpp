#include "data/shards/TokenShards.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "data/shards/ScanBroadcast.hpp"
#include "data/shards/ShardNames.hpp"
#include "data/shards/TokenSetJoin.hpp"

namespace multicard {

namespace {

/// Of a token and its place in the loss mask.
constexpr std::int64_t kTokenBytes = sizeof(std::uint32_t) + sizeof(std::uint8_t);

std::span<std::uint8_t> bytes_of(std::span<std::uint32_t> tokens) {
  return {reinterpret_cast<std::uint8_t*>(tokens.data()), tokens.size_bytes()};
}

/// By name: links are not followed, so that all ranks find the same.
bool is_same(const std::string& file, const std::string& other) {
  const auto full = [](const std::string& path) { return std::filesystem::absolute(path).lexically_normal(); };
  return full(file) == full(other);
}

/// What is read at once when all masks are counted.
constexpr std::int64_t kPieceTokens = std::int64_t{4} << 20;

/// The first token of a sequence is never a target, whatever the mask says.
std::int64_t targets_in(std::span<const std::uint8_t> loss_mask) {
  return std::count(loss_mask.begin() + 1, loss_mask.end(), std::uint8_t{1});
}

}  // namespace

std::shared_ptr<const TokenSetScan> broadcast(const std::shared_ptr<const TokenSetScan>& scan,
                                              const Communicator& communicator, int root) {
  const auto whole = scan ? std::make_shared<TokenSetScan>(*scan) : std::make_shared<TokenSetScan>();
  const ScanBroadcast give(communicator, root);
  TokenSetInfo& info = whole->info;
  for (std::int64_t* number : {&info.num_sequences, &info.num_tokens, &info.num_trained, &info.num_bytes,
                               &info.num_shards, &info.longest, &info.largest_id})
    give(*number);
  for (std::string* text :
       {&info.dataset_type, &info.template_name, &info.template_date, &info.tokenizer_sha256, &info.loss, &info.source})
    give(*text);
  give(whole->files);
  give(whole->sequences_of_files);
  give(whole->tokens_of_files);
  give(whole->files_of_sets);
  give(whole->templates_of_sets);
  give(whole->ends);
  give(whole->num_targets);
  auto part = static_cast<std::int64_t>(whole->part);
  give(part);
  whole->part = static_cast<TokenPart>(part);
  return scan ? scan : whole;
}

// Within a set shards must agree in tokenizer, template and date (set_begin); between sets only in the tokenizer, as
// ids mean nothing under another one, while sets with different templates may well be mixed.
TokenShards::TokenShards(const std::vector<std::string>& patterns, const Communicator& communicator,
                         const ShardReading& reading, TokenPart part) {
  const auto found = std::make_shared<TokenSetScan>();
  scan_ = found;
  found->part = part;
  References references;
  for (const std::string& pattern : patterns) {
    const std::vector<std::string> paths = find_shards(pattern, communicator);
    const std::size_t before = found->ends.size();
    references.set_begin.reset();
    ShardSetCheck check(pattern, part == TokenPart::sequences ? "sequences" : "pairs");
    for (const std::string& path : paths) {
      if (std::any_of(files().begin(), files().end(), [&](const std::string& file) { return is_same(file, path); }))
        throw DataError(fmt::format("{} is in two of the sets that are mixed", path)).on_all_ranks();
      found->files.push_back(path);
      scan_shard(path, communicator, reading.method, references, *found);
      const TokenShardFile& file = shards_.back().file;
      agreed(communicator, [&] { check.add(path, file.membership(), file.info().num_sequences); });
    }
    if (found->ends.size() == before) throw DataError(fmt::format("{} holds no sequences", pattern)).on_all_ranks();
    if (part != TokenPart::rejected) check.finish();  // the other half has said it
    found->files_of_sets.push_back(static_cast<std::int64_t>(paths.size()));
    found->templates_of_sets.push_back(references.set_begin->info.template_name);
  }
  count(communicator, *found);
  if (reading.keep == KeepRows::in_memory) make_cache(communicator);
}

TokenShards::TokenShards(std::shared_ptr<const TokenSetScan> scan, const Communicator& communicator,
                         const ShardReading& reading)
    : scan_(std::move(scan)) {
  std::int64_t first_sequence = 0, first_token = 0;
  for (std::size_t i = 0; i < files().size(); ++i) {
    const std::int64_t num_tokens = scan_->tokens_of_files[i];
    shards_.push_back({TokenShardFile(files()[i], communicator, reading.method, scan_->part, num_tokens),
                       first_sequence, first_token});
    first_sequence += scan_->sequences_of_files[i];
    first_token += num_tokens;
  }
  if (reading.keep == KeepRows::in_memory) make_cache(communicator);
}

void TokenShards::make_cache(const Communicator& communicator) {
  std::vector<std::int64_t> ends;
  for (const std::int64_t end : scan_->ends)
    ends.push_back(kTokenBytes * end);
  cache_ = std::make_unique<RowCache>(std::move(ends), communicator);
}

void TokenShards::scan_shard(const std::string& path, const Communicator& communicator, ReadMethod method,
                             References& references, TokenSetScan& set) {
  std::optional<SetBegin>& begin = references.set_begin;
  TokenShardFile file(path, communicator, method, set.part);
  const TokenSetInfo& found = file.info();
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(found.num_sequences) + 1);
  agreed(communicator, [&] {
    if (begin)
      check_alike(begin->path, begin->info, path, found);
    else if (!shards_.empty())
      check_tokenizers(references.with_tokenizer, info().tokenizer_sha256, path, found.tokenizer_sha256);
    if (communicator.is_root()) offsets = file.read_offsets();
  });
  communicator.broadcast(std::span(offsets));
  TokenSetInfo& all = set.info;
  const std::int64_t first_sequence = all.num_sequences, first_token = all.num_tokens;
  if (shards_.empty())
    all = found;
  else
    add_shard(found, all);
  if (!begin) begin = SetBegin{path, found};
  if (references.with_tokenizer.empty() && !found.tokenizer_sha256.empty()) references.with_tokenizer = path;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    set.ends.push_back(first_token + static_cast<std::int64_t>(offsets[i]));
    all.longest = std::max(all.longest, static_cast<std::int64_t>(offsets[i] - offsets[i - 1]));
  }
  set.sequences_of_files.push_back(found.num_sequences);
  set.tokens_of_files.push_back(found.num_tokens);
  shards_.push_back({std::move(file), first_sequence, first_token});
}

/// The ranks read equal parts of all masks, and of all tokens where a shard does not say which is the largest. Parts
/// are cut by tokens, not by sequences, so that ranks read equally much; pieces end with a sequence and with a shard.
void TokenShards::count(const Communicator& communicator, TokenSetScan& set) {
  const bool reads_tokens = set.info.largest_id == kUnknownId;
  const Block mine = block_of(set.info.num_tokens, communicator.rank(), communicator.size());
  const auto sequence_at = [&](std::int64_t token) {
    const auto found = std::upper_bound(set.ends.begin(), set.ends.end(), token);
    return static_cast<std::int64_t>(found - set.ends.begin());
  };
  set.num_targets.assign(set.ends.size(), 0);
  std::int64_t largest_id = set.info.largest_id;
  agreed_after_long_work(communicator, [&] {
    std::int64_t first = mine.count == 0 ? 0 : sequence_at(mine.first);
    // A sequence belongs to the rank whose part holds its first token.
    if (mine.count > 0 && begin_of(first) < mine.first) ++first;
    std::int64_t end = mine.count == 0 ? 0 : sequence_at(mine.first + mine.count - 1) + 1;
    while (first < end) {
      const std::int64_t last = end_of_piece(first, end);
      count_piece(first, last, set);
      if (reads_tokens) largest_id = std::max(largest_id, largest_id_in(first, last));
      first = last;
    }
  });
  communicator.allreduce(std::span(set.num_targets), ReduceOp::sum);
  set.info.largest_id = communicator.allreduce(largest_id, ReduceOp::max);
  for (const std::int64_t targets : set.num_targets)
    set.info.num_trained += targets;
}

std::int64_t TokenShards::end_of_piece(std::int64_t first, std::int64_t end) const {
  const Shard& shard = shard_of(first);
  const std::int64_t limit = std::min(end, shard.first_sequence + shard.file.info().num_sequences);
  std::int64_t last = first + 1;
  while (last < limit && begin_of(last + 1) - begin_of(first) <= kPieceTokens)
    ++last;
  return last;
}

void TokenShards::count_piece(std::int64_t first, std::int64_t last, TokenSetScan& set) const {
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
    set.num_targets[static_cast<std::size_t>(sequence)] = targets_in(part);
  }
}

std::int64_t TokenShards::largest_id_in(std::int64_t first, std::int64_t last) const {
  const Shard& shard = shard_of(first);
  std::vector<std::uint32_t> tokens(static_cast<std::size_t>(begin_of(last) - begin_of(first)));
  shard.file.read_tokens(begin_of(first) - shard.first_token, tokens);
  return *std::max_element(tokens.begin(), tokens.end());
}

std::vector<std::int64_t> TokenShards::sequences_of_sets() const {
  std::vector<std::int64_t> sequences;
  std::size_t file = 0;
  for (const std::int64_t num_files : scan_->files_of_sets) {
    sequences.push_back(0);
    for (std::int64_t i = 0; i < num_files; ++i)
      sequences.back() += scan_->sequences_of_files[file++];
  }
  return sequences;
}

const std::string& TokenShards::first_file_of(std::size_t set) const {
  std::int64_t file = 0;
  for (std::size_t i = 0; i < set; ++i)
    file += scan_->files_of_sets[i];
  return files()[static_cast<std::size_t>(file)];
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

// A cached row is the tokens of the sequence and then its mask. What is kept is the whole sequence, also when only its
// beginning was asked for: another epoch, or another run of a share, may cut it elsewhere.
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
    if (token > info().largest_id)
      throw DataError(fmt::format("{} holds the token {}", name_of(sequence), token),
                      fmt::format("the attribute largest_id says that none is above {}", info().largest_id));
}

std::int64_t TokenShards::count_targets(std::int64_t sequence, std::int64_t num_tokens) const {
  const Shard& shard = shard_of(sequence);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(num_tokens));
  shard.file.read_mask(begin_of(sequence) - shard.first_token, mask);
  return targets_in(mask);
}

}  // namespace multicard
