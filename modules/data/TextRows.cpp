#include "data/TextRows.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "data/FirstFit.hpp"
#include "data/ScanBroadcast.hpp"

namespace multicard {

namespace {

void check_options(const RowOptions& options) {
  if (options.max_length && *options.max_length < 2)
    throw UsageError(fmt::format("data.max_length is {}", *options.max_length), "a target needs a token before it",
                     "Use 2 or more.");
  if (options.packing && !options.max_length)
    throw UsageError("data.packing needs data.max_length", "it is the length of a pack", "Set data.max_length.");
  if (options.limit && *options.limit < 1)
    throw UsageError(fmt::format("data.limit is {}", *options.limit), "", "Use 1 or more.");
}

}  // namespace

TextRows::TextRows(const TokenShards& shards, const RowOptions& options, const Communicator& communicator) {
  agreed(communicator, [&] {
    check_options(options);
    take_sequences(shards, options);
  });
  if (num_cut_ > 0) count_cut(shards, communicator);
  const auto has_none = [](const SequencePart& part) { return part.num_targets == 0; };
  num_without_target_ = std::erase_if(parts_, has_none);
  if (parts_.empty())
    throw DataError(
        "no sequence can be trained on",
        fmt::format("of {}, {} are too long and {} have no target{}", num_overlong_ + num_without_target_,
                    num_overlong_, num_without_target_, num_cut_ > 0 ? fmt::format(" ({} were cut)", num_cut_) : ""),
        options.max_length ? "Raise data.max_length." : "Look at the shards' loss_mask.")
        .on_all_ranks();
  make_rows(options);
}

std::shared_ptr<const TextRows> TextRows::broadcast(const std::shared_ptr<const TextRows>& rows,
                                                    const Communicator& communicator, int root) {
  const std::shared_ptr<TextRows> whole(rows ? new TextRows(*rows) : new TextRows());
  const ScanBroadcast give(communicator, root);
  give(whole->parts_);
  give(whole->first_part_);
  for (std::int64_t* number :
       {&whole->longest_row_, &whole->longest_sequence_, &whole->num_tokens_, &whole->num_targets_,
        &whole->num_overlong_, &whole->num_without_target_, &whole->num_cut_})
    give(*number);
  return rows ? rows : whole;
}

void TextRows::take_sequences(const TokenShards& shards, const RowOptions& options) {
  const std::int64_t all = shards.info().num_sequences;
  const std::int64_t num_sequences = std::min(all, options.limit.value_or(all));
  const std::int64_t longest = options.max_length.value_or(shards.info().longest);
  for (std::int64_t sequence = 0; sequence < num_sequences; ++sequence) {
    const std::int64_t length = shards.length(sequence);
    if (length <= longest) {
      parts_.push_back({sequence, length, shards.num_targets(sequence)});
    } else if (options.overlong == Overlong::cut) {
      parts_.push_back({sequence, longest, kNotCounted});
      ++num_cut_;
    } else if (options.overlong == Overlong::drop) {
      ++num_overlong_;
    } else {
      throw DataError(fmt::format("{} has {} tokens", shards.name_of(sequence), length),
                      fmt::format("data.max_length is {} and data.overlong is error", longest),
                      "Raise data.max_length, or let data.overlong be cut or drop.");
    }
  }
}

void TextRows::count_cut(const TokenShards& shards, const Communicator& communicator) {
  std::vector<SequencePart*> cut;
  for (SequencePart& part : parts_)
    if (part.num_targets == kNotCounted) cut.push_back(&part);
  std::vector<std::int64_t> targets(cut.size(), 0);
  const Block mine = block_of(num_cut_, communicator.rank(), communicator.size());
  agreed_after_long_work(communicator, [&] {
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      targets[place] = shards.count_targets(cut[place]->sequence, cut[place]->length);
    }
  });
  communicator.allreduce(std::span(targets), ReduceOp::sum);
  for (std::size_t i = 0; i < cut.size(); ++i)
    cut[i]->num_targets = targets[i];
}

void TextRows::make_rows(const RowOptions& options) {
  for (const SequencePart& part : parts_) {
    longest_sequence_ = std::max(longest_sequence_, part.length);
    num_tokens_ += part.length;
    num_targets_ += part.num_targets;
  }
  if (!options.packing) {
    first_part_.resize(parts_.size() + 1);
    std::iota(first_part_.begin(), first_part_.end(), std::size_t{0});
  } else {
    pack(*options.max_length);
  }
  for (std::int64_t row = 0; row < num_rows(); ++row)
    longest_row_ = std::max(longest_row_, length(row));
}

void TextRows::pack(std::int64_t max_length) {
  std::vector<std::int64_t> lengths;
  for (const SequencePart& part : parts_)
    lengths.push_back(part.length);
  const std::vector<std::size_t> packs = first_fit(lengths, max_length);
  const std::size_t num_packs = *std::max_element(packs.begin(), packs.end()) + 1;
  first_part_.assign(num_packs + 1, 0);
  for (const std::size_t pack : packs)
    ++first_part_[pack + 1];
  std::partial_sum(first_part_.begin(), first_part_.end(), first_part_.begin());
  std::vector<std::size_t> next(first_part_.begin(), first_part_.end() - 1);
  std::vector<SequencePart> ordered(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i)
    ordered[next[packs[i]]++] = parts_[i];
  parts_ = std::move(ordered);
}

std::span<const SequencePart> TextRows::parts(std::int64_t row) const {
  const auto place = static_cast<std::size_t>(row);
  return std::span(parts_).subspan(first_part_[place], first_part_[place + 1] - first_part_[place]);
}

RowShape TextRows::shape(std::int64_t row) const {
  RowShape shape;
  for (const SequencePart& part : parts(row)) {
    shape.lengths.push_back(part.length);
    shape.num_targets += part.num_targets;
  }
  return shape;
}

std::int64_t TextRows::length(std::int64_t row) const {
  std::int64_t tokens = 0;
  for (const SequencePart& part : parts(row))
    tokens += part.length;
  return tokens;
}

}  // namespace multicard
