#include "data/shards/TokenShardFile.hpp"

#include <fmt/format.h>

#include "comm/Agreement.hpp"
#include "data/shards/ShardFormat.hpp"

namespace multicard {

namespace {

/// Of shards that do not say it: they were written when templates knew no other.
constexpr const char* kFirstTemplateDate = "2024-07-26";

/// Where the arrays of a part are.
std::string group_of(const Hdf5File& file, TokenPart part) {
  switch (part) {
    case TokenPart::sequences:
      return file.exists(token_format::kChosen) ? token_format::kChosen : "";
    case TokenPart::chosen:
      return token_format::kChosen;
    case TokenPart::rejected:
      break;
  }
  return token_format::kRejected;
}

void check_kind(const Hdf5File& file, TokenPart part) {
  if (part != TokenPart::sequences && !file.exists(token_format::kChosen))
    throw DataError(fmt::format("{} holds no preference pairs", file.path()), "",
                    "Make them with multicard prepare text --type preference.");
}

/// An attribute that other writers may have left out.
std::string text_attribute(const Hdf5File& file, const std::string& name) {
  return file.has_attribute("/", name) ? file.attribute<std::string>("/", name) : std::string();
}

TokenSetInfo read_info(const Hdf5File& file) {
  TokenSetInfo info;
  info.num_shards = 1;
  info.dataset_type = text_attribute(file, "dataset_type");
  info.template_name = text_attribute(file, "template");
  info.template_date = text_attribute(file, "template_date");
  if (info.template_date.empty()) info.template_date = kFirstTemplateDate;
  info.tokenizer_sha256 = text_attribute(file, "tokenizer_sha256");
  info.loss = text_attribute(file, "loss");
  info.source = text_attribute(file, "source");
  info.largest_id =
      file.has_attribute("/", "largest_id") ? file.attribute<std::int64_t>("/", "largest_id") : kUnknownId;
  return info;
}

void check_arrays(const Hdf5File& file, const Hdf5Dataset& tokens, const Hdf5Dataset& mask,
                  const Hdf5Dataset& offsets) {
  const bool is_whole = tokens.type() == ElementType::uint32 && tokens.dims().size() == 1 &&
                        mask.type() == ElementType::uint8 && mask.dims() == tokens.dims() &&
                        offsets.type() == ElementType::uint64 && offsets.dims().size() == 1 && offsets.dims()[0] > 0;
  if (is_whole) return;
  throw DataError(fmt::format("{} is not a complete token shard", file.path()),
                  fmt::format("{} must be uint32 [T], {} uint8 [T] and {} uint64 [S + 1]", tokens.path(), mask.path(),
                              offsets.path()),
                  "Prepare it again.");
}

}  // namespace

TokenShardFile::TokenShardFile(const std::string& path, const Communicator& communicator, ReadMethod method,
                               TokenPart part)
    : file_(open_shard(path, ShardKind::token, communicator)) {
  // All ranks see the same file, so they fail together.
  agreed(communicator, [&] {
    require_format(file_, ShardKind::token, token_format::kFormat, token_format::kSchemaVersion);
    check_kind(file_, part);
    const std::string group = group_of(file_, part);
    const Hdf5Dataset tokens = file_.open_dataset(group + token_format::kTokens);
    const Hdf5Dataset mask = file_.open_dataset(group + token_format::kLossMask);
    offsets_ = file_.open_dataset(group + token_format::kOffsets);
    check_arrays(file_, tokens, mask, *offsets_);
    offsets_->require_memory();
    info_ = read_info(file_);
    membership_ = membership_of(file_, ShardKind::token);
    info_.num_sequences = static_cast<std::int64_t>(offsets_->num_elements()) - 1;
    info_.num_tokens = static_cast<std::int64_t>(tokens.num_elements());
    info_.num_bytes = info_.num_tokens * static_cast<std::int64_t>(sizeof(std::uint32_t) + sizeof(std::uint8_t));
    tokens_.emplace(path, tokens, method);
    mask_.emplace(path, mask, method);
  });
}

TokenShardFile::TokenShardFile(const std::string& path, const Communicator& communicator, ReadMethod method,
                               TokenPart part, std::int64_t num_tokens)
    : file_(open_shard(path, ShardKind::token, communicator)) {
  agreed(communicator, [&] {
    const std::string group = group_of(file_, part);
    const Hdf5Dataset tokens = file_.open_dataset(group + token_format::kTokens);
    const Hdf5Dataset mask = file_.open_dataset(group + token_format::kLossMask);
    const Extents expected{static_cast<std::uint64_t>(num_tokens)};
    require_unchanged(path, tokens, ElementType::uint32, expected);
    require_unchanged(path, mask, ElementType::uint8, expected);
    tokens_.emplace(path, tokens, method);
    mask_.emplace(path, mask, method);
  });
}

// All later arithmetic on places in the file relies on this: offsets rise strictly from 0 to the number of tokens.
std::vector<std::uint64_t> TokenShardFile::read_offsets() const {
  std::vector<std::uint64_t> offsets = offsets_->read_all<std::uint64_t>();
  const auto refuse = [&](const std::string& why) {
    throw DataError(fmt::format("{}: {} is damaged", path(), offsets_->path()), why, "Prepare it again.");
  };
  if (offsets.front() != 0) refuse(fmt::format("it begins with {}, not 0", offsets.front()));
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] <= offsets[i - 1]) refuse(fmt::format("sequence {} has no tokens", i - 1));
  if (offsets.back() != static_cast<std::uint64_t>(info_.num_tokens))
    refuse(fmt::format("it ends at {}, but there are {} tokens", offsets.back(), info_.num_tokens));
  return offsets;
}

void TokenShardFile::read_tokens(std::int64_t first, std::span<std::uint32_t> tokens) const {
  tokens_->read(first, static_cast<std::int64_t>(tokens.size()), tokens);
}

void TokenShardFile::read_mask(std::int64_t first, std::span<std::uint8_t> loss_mask) const {
  mask_->read(first, static_cast<std::int64_t>(loss_mask.size()), loss_mask);
}

}  // namespace multicard
