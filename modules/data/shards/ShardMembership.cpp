#include "data/shards/ShardMembership.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "data/shards/ClassNames.hpp"
#include "data/shards/ShardContents.hpp"

namespace multicard {

namespace {

constexpr const char* kCount = "count";
constexpr const char* kShard = "shard";
constexpr const char* kNumShards = "num_shards";
/// Of a whole set. Mean and deviation are not among them: other writers may know those of a shard alone.
constexpr const char* kMarks[] = {kCount, kNumShards, kLabelsText, "num_tokens", "num_trained", "source_sha256"};

std::optional<std::int64_t> whole_number(const std::map<std::string, Hdf5Value>& attributes, const char* name,
                                         std::vector<std::string>& not_read) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return std::nullopt;
  if (const auto* value = std::get_if<std::int64_t>(&found->second)) return *value;
  not_read.push_back(fmt::format("{} (it is no whole number)", name));
  return std::nullopt;
}

}  // namespace

ShardMembership membership_of(const Hdf5File& file, ShardKind kind) {
  const std::map<std::string, Hdf5Value> attributes = file.attributes("/");
  ShardMembership found;
  found.unknown = unknown_contents(file, kind);
  found.count = whole_number(attributes, kCount, found.unknown);
  found.shard = whole_number(attributes, kShard, found.unknown);
  for (const char* name : kMarks) {
    const auto attribute = attributes.find(name);
    if (attribute == attributes.end()) continue;
    if (const auto* text = std::get_if<std::string>(&attribute->second)) found.marks[name] = *text;
    if (const auto* number = std::get_if<std::int64_t>(&attribute->second)) found.marks[name] = std::to_string(*number);
  }
  return found;
}

void write_place(Hdf5File& file, std::int64_t shard, std::int64_t num_shards) {
  file.write_attribute("/", kShard, shard);
  file.write_attribute("/", kNumShards, num_shards);
}

void ShardSetCheck::add(const std::string& path, const ShardMembership& shard, std::int64_t num_rows) {
  if (first_path_.empty()) {
    first_path_ = path;
    first_ = shard;
  }
  for (const auto& [name, value] : shard.marks)
    if (const auto mark = first_.marks.find(name); mark != first_.marks.end() && mark->second != value)
      throw DataError(fmt::format("{} and {} are of two sets", first_path_, path),
                      fmt::format("their attribute {} is {} and {}", name, mark->second, value),
                      "Name the files of one set, or prepare the images or texts of both together.");
  if (shard.shard) {
    const auto [place, is_new] = path_of_shard_.emplace(*shard.shard, path);
    if (!is_new)
      throw DataError(fmt::format("{} and {} are the same shard", place->second, path),
                      fmt::format("number {} of their set, counted from 0", *shard.shard),
                      "Remove the copy, or name the files to use so that it is not among them.");
  }
  unknown_.insert(shard.unknown.begin(), shard.unknown.end());
  is_in_order_ = is_in_order_ && shard.shard == num_files_;
  num_rows_ += num_rows;
  ++num_files_;
}

void ShardSetCheck::add_rows(const std::string& path, std::span<const std::int32_t> labels,
                             std::span<const std::uint8_t> ends) {
  copies_.add(path, labels, {reinterpret_cast<const char*>(ends.data()), ends.size()});
}

// The digest is over the labels of the whole set in the order of the shards: with files missing, or in another order,
// there is nothing to compare it with.
void ShardSetCheck::require_labels(std::span<const std::int32_t> labels) const {
  const auto digest = first_.marks.find(kLabelsText);
  if (digest == first_.marks.end() || !is_in_order_ || first_.count != num_rows_) return;
  if (digest_of_labels(labels) == digest->second) return;
  throw DataError(fmt::format("{} has other labels than it was written with", pattern_),
                  fmt::format("their digest is not its attribute {}", kLabelsText),
                  "Prepare it again, or take the attribute out where the labels were changed on purpose.")
      .on_all_ranks();
}

void ShardSetCheck::warn_of_missing_files() const {
  const auto whole = first_.marks.find(kNumShards);
  if (first_.count || whole == first_.marks.end()) return;
  const std::int64_t num_shards = std::strtoll(whole->second.c_str(), nullptr, 10);
  if (num_files_ < num_shards)
    log_warning(fmt::format("{} names a part of a set: {} of {} files", pattern_, num_files_, num_shards));
}

// More rows than the set has can only be a mistake and is an error; fewer may be meant (a few shards for a trial) and
// is a warning.
void ShardSetCheck::finish() const {
  warn_of_missing_files();
  if (!unknown_.empty())
    log_warning(
        fmt::format("{} holds what is not read: {}", first_path_, join({unknown_.begin(), unknown_.end()}, ", ")));
  if (!first_.count || *first_.count == num_rows_) return;
  const std::string found = fmt::format("{} {}", grouped(num_rows_), unit_);
  if (num_rows_ > *first_.count)
    throw DataError(
        fmt::format("{} names files with {}", pattern_, found),
        fmt::format("their set has {}: some are there twice, or are of another set", grouped(*first_.count)),
        "Name the files of one set, each once.")
        .on_all_ranks();
  log_warning(fmt::format("{} names a part of a set: {} of {}", pattern_, found, grouped(*first_.count)));
}

}  // namespace multicard
