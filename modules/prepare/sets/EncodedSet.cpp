#include "prepare/sets/EncodedSet.hpp"

#include <algorithm>
#include <limits>

namespace multicard {

namespace {

constexpr std::size_t kMostNames = 1000;  // of fields; records may have names of their own

/// The first token of a sequence has nothing before it.
bool has_target(std::span<const std::uint8_t> loss_mask) {
  return loss_mask.size() > 1 && std::find(loss_mask.begin() + 1, loss_mask.end(), 1) != loss_mask.end();
}

}  // namespace

void EncodedSet::add(const EncodedRecord& record, LongText long_text, std::optional<std::int64_t> max_length) {
  const auto most = max_length ? static_cast<std::size_t>(*max_length) : std::numeric_limits<std::size_t>::max();
  const std::size_t before = chosen.size();
  if (record.drops_reasoning) ++counts.num_dropped_reasoning;
  for (const std::string& name : record.unknown_fields)
    if (unknown_fields.size() < kMostNames || unknown_fields.contains(name)) ++unknown_fields[name];
  if (long_text == LongText::split) {
    add_parts(record.sequence, most);
  } else {
    add_cut(record, most);
  }
  if (chosen.size() > before) num_of_record.push_back(static_cast<std::int64_t>(chosen.size() - before));
}

// Each part is trained on its own, without what was before: its first token loses its place as a target.
void EncodedSet::add_parts(const EncodedText& text, std::size_t max_length) {
  const std::size_t size = text.ids.size();
  if (size > max_length) ++counts.num_split;
  for (std::size_t first = 0; first < std::max<std::size_t>(1, size); first += std::min(max_length, size + 1)) {
    const std::size_t count = std::min(max_length, size - first);
    std::vector<std::uint8_t> mask(text.loss_mask.begin() + static_cast<std::ptrdiff_t>(first),
                                   text.loss_mask.begin() + static_cast<std::ptrdiff_t>(first + count));
    if (!mask.empty()) mask.front() = 0;
    if (has_target(mask)) {
      chosen.add(std::span(text.ids).subspan(first, count), mask);
    } else {
      ++counts.num_without_target;
    }
  }
}

// A pair is kept or left out as a whole: the halves stay at equal places. Whether a cut took the targets, or the record
// never had any, is counted apart, as the first can be cured by a larger --max-length.
void EncodedSet::add_cut(const EncodedRecord& record, std::size_t max_length) {
  bool is_whole_trained = true, is_trained = true;
  std::int64_t num_cut = 0;
  const auto length_of = [&](const EncodedText& text) { return std::min(max_length, text.ids.size()); };
  const auto look = [&](const EncodedText& text) {
    if (length_of(text) < text.ids.size()) ++num_cut;
    is_whole_trained = is_whole_trained && has_target(text.loss_mask);
    is_trained = is_trained && has_target(std::span(text.loss_mask).first(length_of(text)));
  };
  look(record.sequence);
  if (record.rejected) look(*record.rejected);
  if (!is_trained) {
    ++(is_whole_trained ? counts.num_lost_target : counts.num_without_target);
    return;
  }
  counts.num_cut += num_cut;
  const auto add_to = [&](TokenSequences& sequences, const EncodedText& text) {
    sequences.add(std::span(text.ids).first(length_of(text)), std::span(text.loss_mask).first(length_of(text)));
  };
  add_to(chosen, record.sequence);
  if (record.rejected) add_to(rejected, *record.rejected);
}

}  // namespace multicard
