#include "data/ShardNames.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <fnmatch.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "io/Bytes.hpp"

namespace multicard {

namespace fs = std::filesystem;

std::string shard_path(const std::string& prefix, std::int64_t shard, std::int64_t num_shards) {
  return fmt::format("{}-{:05}-of-{:05}.h5", prefix, shard, num_shards);
}

namespace {

/// A process that was killed while it gave its shards their names: those that have one are removed with the others,
/// which still have temporary names. Nothing else leaves a temporary shard whose final name is free.
void remove_half_named(const std::string& prefix) {
  static const std::regex temporary("\\.(.*)-([0-9]{5,})-of-([0-9]{5,})\\.h5\\..*\\.part");
  for (const std::string& orphan : find_orphans(prefix + "-")) {
    const std::string name = fs::path(orphan).filename().string();
    std::smatch parts;
    if (!std::regex_match(name, parts, temporary) || parts[2].length() > 9 || parts[3].length() > 9) continue;
    const std::string set = (fs::path(orphan).parent_path() / parts[1].str()).string();
    const std::int64_t num_shards = std::stoll(parts[3]);
    if (fs::exists(shard_path(set, std::stoll(parts[2]), num_shards))) continue;
    std::error_code ignored;
    for (std::int64_t shard = 0; shard < num_shards; ++shard)
      fs::remove(shard_path(set, shard, num_shards), ignored);
  }
}

}  // namespace

void require_no_shards(const std::string& prefix) {
  remove_half_named(prefix);
  const fs::path path(prefix);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string stem = path.filename().string() + "-";
  const std::regex ending("[0-9]{5,}-of-[0-9]{5,}\\.h5");
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(stem) && std::regex_match(name.substr(stem.size()), ending))
      throw DataError(fmt::format("{} exists", (path.parent_path() / name).string()), "shards are never overwritten",
                      "Remove the old shards or choose another -o PREFIX.");
  }
}

namespace {

/// A shard that is not there although the pattern asks for it and its siblings say that it was written: half a copied
/// set would train on half of the data.
void require_siblings(const std::string& pattern, const std::vector<std::string>& paths) {
  static const std::regex numbered("(.*)-[0-9]{5,}-of-([0-9]{5,})\\.h5");
  std::set<std::string> looked_at;
  for (const std::string& path : paths) {
    std::smatch parts;
    if (!std::regex_match(path, parts, numbered) || parts[2].length() > 9) continue;
    if (!looked_at.insert(parts[1].str() + "-" + parts[2].str()).second) continue;
    const std::int64_t num_shards = std::stoll(parts[2]);
    // No more than there are files: one of the first is missing, or none.
    const auto num_checked = std::min<std::int64_t>(num_shards, static_cast<std::int64_t>(paths.size()) + 1);
    for (std::int64_t shard = 0; shard < num_checked; ++shard) {
      const std::string sibling = shard_path(parts[1], shard, num_shards);
      if (fnmatch(pattern.c_str(), sibling.c_str(), FNM_PATHNAME) == 0 && !fs::exists(sibling))
        throw DataError(fmt::format("{} is missing", sibling), fmt::format("{} is there", path),
                        "Copy or prepare all shards of the set, or name the files to use one by one.");
    }
  }
}

}  // namespace

std::vector<std::string> find_shards(const std::string& pattern, const Communicator& communicator) {
  const std::string found = agreed(communicator, [&] {
    if (!communicator.is_root()) return std::string();
    const std::vector<std::string> paths = expand_glob(pattern);
    require_siblings(pattern, paths);
    return join(paths, "\n");
  });
  return split(communicator.broadcast(found), '\n');
}

PendingShards::PendingShards(const std::string& prefix, std::int64_t num_shards, const Communicator& communicator)
    : is_root_(communicator.is_root()) {
  if (is_root_) remove_orphans(prefix + "-");  // also of another number of shards
  for (std::int64_t shard = 0; shard < num_shards; ++shard) {
    names_.push_back(shard_path(prefix, shard, num_shards));
    files_.push_back(std::make_unique<PendingFile>(names_.back(), communicator));
  }
}

void PendingShards::commit() {
  std::size_t num_named = 0;
  try {
    for (; num_named < files_.size(); ++num_named)
      files_[num_named]->commit();
  } catch (const Error&) {
    std::error_code ignored;
    for (std::size_t i = 0; is_root_ && i < num_named; ++i)
      fs::remove(names_[i], ignored);
    throw;
  }
}

}  // namespace multicard
