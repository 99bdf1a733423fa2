#include "data/ShardNames.hpp"

#include <filesystem>
#include <regex>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "io/Bytes.hpp"

namespace multicard {

namespace fs = std::filesystem;

std::string shard_path(const std::string& prefix, std::int64_t shard, std::int64_t num_shards) {
  return fmt::format("{}-{:05}-of-{:05}.h5", prefix, shard, num_shards);
}

void require_no_shards(const std::string& prefix) {
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

std::vector<std::string> find_shards(const std::string& pattern, const Communicator& communicator) {
  const std::string found =
      agreed(communicator, [&] { return communicator.is_root() ? join(expand_glob(pattern), "\n") : std::string(); });
  return split(communicator.broadcast(found), '\n');
}

PendingShards::PendingShards(const std::string& prefix, std::int64_t num_shards, const Communicator& communicator)
    : is_root_(communicator.is_root()) {
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
