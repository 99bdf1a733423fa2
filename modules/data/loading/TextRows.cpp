#include "data/loading/TextRows.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "data/loading/FirstFit.hpp"
#include "data/shards/ScanBroadcast.hpp"

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

/// What takes the place of the targets of a sequence that was cut, until they are counted.
constexpr std::int64_t kNotCounted = -1;

bool is_not_counted(const SequencePart& part) {
  return part.num_targets == kNotCounted;
}

}  // namespace

TextRows::TextRows(const RowShards& shards, const RowOptions& options, const Communicator& communicator) {
  agreed(communicator, [&] {
    check_options(options);
    if (options.packing && shards.group_size() > 1)
      throw UsageError("data.packing is for sequences", "a row of preference pairs is one pair, without padding",
                       "Set it to false.");
    take_sequences(shards, options);
  });
  if (num_cut_ > 0) count_cut(shards, communicator);
  leave_out_without_target(shards.group_size());
  if (parts_.empty())
    throw DataError(
        "no sequence can be trained on",
        fmt::format("of {}, {} are too long and {} have no target{}", num_overlong_ + num_without_target_,
                    num_overlong_, num_without_target_, num_cut_ > 0 ? fmt::format(" ({} were cut)", num_cut_) : ""),
        options.max_length ? "Raise data.max_length." : "Look at the shards' loss_mask.")
        .on_all_ranks();
  make_rows(shards, options);
}

std::shared_ptr<const TextRows> TextRows::broadcast(const std::shared_ptr<const TextRows>& rows,
                                                    const Communicator& communicator, int root) {
  const std::shared_ptr<TextRows> whole(rows ? new TextRows(*rows) : new TextRows());
  const ScanBroadcast give(communicator, root);
  give(whole->parts_);
  give(whole->first_part_);
  give(whole->rows_of_sets_);
  for (std::int64_t* number :
       {&whole->longest_row_, &whole->longest_sequence_, &whole->num_tokens_, &whole->num_targets_,
        &whole->num_overlong_, &whole->num_without_target_, &whole->num_cut_})
    give(*number);
  return rows ? rows : whole;
}

void TextRows::take_sequences(const RowShards& shards, const RowOptions& options) {
  const std::int64_t longest = options.max_length.value_or(
      std::max(shards.at(0).info().longest, shards.at(shards.group_size() - 1).info().longest));
  std::int64_t first = 0;
  for (const std::int64_t num_groups : shards.at(0).sequences_of_sets()) {
    const std::int64_t end = first + std::min(num_groups, options.limit.value_or(num_groups));
    for (std::int64_t sequence = first; sequence < end; ++sequence)
      take_sequence(shards, options, sequence, longest);
    first += num_groups;
  }
}

void TextRows::take_sequence(const RowShards& shards, const RowOptions& options, std::int64_t sequence,
                             std::int64_t longest) {
  std::vector<SequencePart> group;
  for (std::size_t place = 0; place < shards.group_size(); ++place) {
    const TokenShards& half = shards.at(place);
    const std::int64_t length = half.length(sequence);
    if (length > longest && options.overlong == Overlong::error)
      throw DataError(fmt::format("{} has {} tokens", half.name_of(sequence), length),
                      fmt::format("data.max_length is {} and data.overlong is error", longest),
                      "Raise data.max_length, or let data.overlong be cut or drop.");
    const bool is_cut = length > longest;
    group.push_back(
        {sequence, std::min(length, longest), is_cut ? kNotCounted : half.num_targets(sequence), shards.part(place)});
  }
  const std::int64_t num_cut = std::count_if(group.begin(), group.end(), is_not_counted);
  if (num_cut > 0 && options.overlong == Overlong::drop) {
    ++num_overlong_;
    return;
  }
  num_cut_ += num_cut;
  parts_.insert(parts_.end(), group.begin(), group.end());
}

// A cut may have taken targets away, which only the mask shows: the number in the scan is that of the whole sequence.
// The ranks read a part each; the others' places stay 0, so that the sum is the whole list.
void TextRows::count_cut(const RowShards& shards, const Communicator& communicator) {
  std::vector<SequencePart*> cut;
  for (SequencePart& part : parts_)
    if (is_not_counted(part)) cut.push_back(&part);
  std::vector<std::int64_t> targets(cut.size(), 0);
  const Block mine = block_of(num_cut_, communicator.rank(), communicator.size());
  agreed_after_long_work(communicator, [&] {
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      targets[place] = shards.holding(cut[place]->half).count_targets(cut[place]->sequence, cut[place]->length);
    }
  });
  communicator.allreduce(std::span(targets), ReduceOp::sum);
  for (std::size_t i = 0; i < cut.size(); ++i)
    cut[i]->num_targets = targets[i];
}

void TextRows::leave_out_without_target(std::size_t group_size) {
  std::vector<SequencePart> kept;
  for (auto group = parts_.begin(); group != parts_.end(); group += static_cast<std::ptrdiff_t>(group_size)) {
    const auto end = group + static_cast<std::ptrdiff_t>(group_size);
    if (std::any_of(group, end, [](const SequencePart& part) { return part.num_targets == 0; }))
      ++num_without_target_;
    else
      kept.insert(kept.end(), group, end);
  }
  parts_ = std::move(kept);
}

// The parts are in the order of the shards, and so those of a set are consecutive. Packing permutes them within their
// set.
void TextRows::make_rows(const RowShards& shards, const RowOptions& options) {
  for (const SequencePart& part : parts_) {
    longest_sequence_ = std::max(longest_sequence_, part.length);
    num_tokens_ += part.length;
    num_targets_ += part.num_targets;
  }
  const std::vector<std::int64_t> sequences = shards.at(0).sequences_of_sets();
  first_part_ = {0};
  std::size_t first = 0;
  std::int64_t end_of_set = 0;
  for (std::size_t set = 0; set < sequences.size(); ++set) {
    end_of_set += sequences[set];
    std::size_t end = first;
    while (end < parts_.size() && parts_[end].sequence < end_of_set)
      ++end;
    if (end == first)
      throw DataError(fmt::format("no sequence of {} can be trained on", shards.at(0).first_file_of(set)),
                      "all of its set are too long or have no target", "Leave the set out, or raise data.max_length.")
          .on_all_ranks();
    const std::int64_t rows_before = num_rows();
    if (options.packing)
      pack(first, end, *options.max_length);
    else
      for (std::size_t part = first; part < end; part += shards.group_size())
        first_part_.push_back(part + shards.group_size());
    rows_of_sets_.push_back(num_rows() - rows_before);
    first = end;
  }
  for (std::int64_t row = 0; row < num_rows(); ++row)
    longest_row_ = std::max(longest_row_, length(row));
}

void TextRows::pack(std::size_t first, std::size_t end, std::int64_t max_length) {
  const std::vector<SequencePart> parts(parts_.begin() + static_cast<std::ptrdiff_t>(first),
                                        parts_.begin() + static_cast<std::ptrdiff_t>(end));
  std::vector<std::int64_t> lengths;
  lengths.reserve(parts.size());
  for (const SequencePart& part : parts)
    lengths.push_back(part.length);
  // Counting sort by pack: `next` holds where the next part of each pack goes, and within a pack the order of the
  // shards stays.
  const std::vector<std::size_t> packs = first_fit(lengths, max_length);
  const std::size_t num_packs = *std::max_element(packs.begin(), packs.end()) + 1;
  std::vector<std::size_t> next(num_packs + 1, 0);
  for (const std::size_t pack : packs)
    ++next[pack + 1];
  next[0] = first;
  std::partial_sum(next.begin(), next.end(), next.begin());
  first_part_.insert(first_part_.end(), next.begin() + 1, next.end());
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts_[next[packs[i]]++] = parts[i];
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
