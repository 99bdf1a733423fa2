#include "prepare/sets/TextReport.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Log.hpp"
#include "base/Shown.hpp"
#include "base/Text.hpp"
#include "io/JsonReader.hpp"
#include "prepare/sets/TextStatistics.hpp"

namespace multicard {

namespace {

/// Collective. The lengths of the sequences of all ranks, in input order.
std::vector<std::int64_t> gather_lengths(const TokenSequences& sequences, const Communicator& communicator) {
  std::vector<std::int64_t> mine;
  for (std::size_t sequence = 0; sequence < sequences.size(); ++sequence)
    mine.push_back(static_cast<std::int64_t>(sequences.length(sequence)));
  const std::string bytes(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(std::int64_t));
  std::vector<std::int64_t> all;
  for (const std::string& part : communicator.allgather(bytes)) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(std::int64_t));
    if (!part.empty()) std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

/// Collective. The sums over all ranks. Names differ between ranks, and so they are exchanged as JSON and added by
/// name.
std::map<std::string, std::int64_t> sum_of(const std::map<std::string, std::int64_t>& mine,
                                           const Communicator& communicator) {
  std::map<std::string, std::int64_t> all;
  for (const std::string& part : communicator.allgather(nlohmann::json(mine).dump())) {
    const nlohmann::json counts = parse_json(part, "fields");
    for (const auto& [name, count] : counts.items())
      all[name] += count.get<std::int64_t>();
  }
  return all;
}

}  // namespace

std::string in_words(const CutCounts& counts) {
  std::vector<std::string> parts;
  if (counts.num_cut > 0) parts.push_back(counted(counts.num_cut, "sequence") + " cut at --max-length");
  if (counts.num_split > 0) parts.push_back(counted(counts.num_split, "text") + " split at --max-length");
  if (counts.num_without_target > 0) parts.push_back(grouped(counts.num_without_target) + " left out without a target");
  if (counts.num_lost_target > 0)
    parts.push_back(grouped(counts.num_lost_target) + " left out because the cut took all targets");
  return join(parts, ", ");
}

void report_sequences(const EncodedSet& encoded, bool is_paired, const Communicator& communicator) {
  std::vector<std::int64_t> lengths = gather_lengths(encoded.chosen, communicator);
  if (is_paired) {
    const std::vector<std::int64_t> rejected = gather_lengths(encoded.rejected, communicator);
    lengths.insert(lengths.end(), rejected.begin(), rejected.end());
  }
  if (!communicator.is_root()) return;
  log_info(length_summary(lengths, !is_paired));
  if (const std::string cuts = in_words(encoded.counts); !cuts.empty()) log_info(cuts);
}

void warn_of_what_is_left_out(const EncodedSet& encoded, DatasetType type, const std::string& template_name,
                              const Communicator& communicator) {
  constexpr std::size_t kMostShown = 12;
  const std::map<std::string, std::int64_t> unknown = sum_of(encoded.unknown_fields, communicator);
  if (!communicator.is_root()) return;
  if (const std::int64_t count = encoded.counts.num_dropped_reasoning; count > 0)
    log_warning(fmt::format("{} {} reasoning, which template {} does not write: it is left out",
                            counted(count, "record"), count == 1 ? "has" : "have", template_name));
  if (unknown.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, count] : unknown)
    if (names.size() < kMostShown) names.push_back(fmt::format("{} ({})", shown(name), counted(count, "record")));
  if (unknown.size() > kMostShown) names.push_back(fmt::format("{} more", unknown.size() - kMostShown));
  log_warning(fmt::format("type {} does not read {}: {}. Map what belongs to the text with --map NAME=THEIRS.",
                          name_of(type), unknown.size() == 1 ? "a field" : "these fields", join(names, ", ")));
}

void report_set(const TokenWriter& writer, bool is_paired) {
  const TokenTotals& totals = writer.totals();
  const auto num_shards = static_cast<std::int64_t>(writer.paths().size());
  log_info(fmt::format("wrote {}, {} tokens, {} of them trained ({:.1f} %), as {}{}",
                       is_paired ? counted(totals.num_sequences, "pair") : counted(totals.num_sequences, "sequence"),
                       grouped(totals.num_tokens), grouped(totals.num_trained),
                       100.0 * static_cast<double>(totals.num_trained) / static_cast<double>(totals.num_tokens),
                       writer.paths().front(), num_shards == 1 ? "" : fmt::format(" and {} more", num_shards - 1)));
}

void report_rate(std::int64_t num_bytes, std::int64_t num_tokens, double seconds) {
  const double bytes = static_cast<double>(num_bytes), least = std::max(seconds, 1e-3);
  log_info(fmt::format("took {} for {} of records: {}/s, {} tokens/s", human_duration(seconds), human_bytes(bytes),
                       human_bytes(bytes / least),
                       grouped(static_cast<std::int64_t>(static_cast<double>(num_tokens) / least))));
}

}  // namespace multicard
