#include "data/ShardMembership.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "data/ShardContents.hpp"

namespace multicard {

namespace {

constexpr const char* kCount = "count";
constexpr const char* kShard = "shard";
constexpr const char* kNumShards = "num_shards";
/// Of a whole set. Mean and deviation are not among them: other writers may know those of a shard alone.
constexpr const char* kMarks[] = {kCount, kNumShards, "labels_sha256", "num_tokens", "num_trained", "source_sha256"};

std::optional<std::int64_t> whole_number(const std::map<std::string, Hdf5Value>& attributes, const char* name) {
  const auto found = attributes.find(name);
  const auto* value = found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return value ? std::optional(*value) : std::nullopt;
}

}  // namespace

ShardMembership membership_of(const Hdf5File& file, ShardKind kind) {
  const std::map<std::string, Hdf5Value> attributes = file.attributes("/");
  ShardMembership found{
      whole_number(attributes, kCount), whole_number(attributes, kShard), {}, unknown_contents(file, kind)};
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
  num_rows_ += num_rows;
}

void ShardSetCheck::finish() const {
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
