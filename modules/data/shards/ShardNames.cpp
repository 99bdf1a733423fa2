#include "data/shards/ShardNames.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "base/Text.hpp"
#include "comm/AbortRemovals.hpp"
#include "comm/Agreement.hpp"
#include "data/shards/ReferenceFile.hpp"
#include "io/Bytes.hpp"
#include "io/Glob.hpp"
#include "io/OwnFiles.hpp"

namespace multicard {

namespace fs = std::filesystem;

std::string shard_path(const std::string& prefix, std::int64_t shard, std::int64_t num_shards) {
  return fmt::format("{}-{:05}-of-{:05}.h5", prefix, shard, num_shards);
}

namespace {

/// Of any set whose prefix begins with `prefix`: train and test sets of one command do.
bool is_shard_of(const std::string& name, const std::string& prefix) {
  static const std::regex ending("[\\s\\S]*-[0-9]{5,}-of-[0-9]{5,}\\.h5");
  return name == fs::path(name).filename() && name.starts_with(fs::path(prefix).filename().string()) &&
         std::regex_match(name, ending);
}

}  // namespace

// A journal is trusted only as far as it can be checked: it must be small, list nothing but shard names of this prefix
// in its own folder, and each file must begin like a shard of this program before it is removed.
void free_interrupted_names(const std::string& prefix) {
  constexpr std::uint64_t kLongest = 64 << 20;
  for (const std::string& orphan : find_orphans(prefix + ".")) {
    if (why_unreadable(orphan) || RegularFile(orphan).size() > kLongest) continue;  // another writer's
    std::vector<std::string> names = unpacked_paths(read_file(orphan));
    std::erase(names, "");
    if (!std::all_of(names.begin(), names.end(), [&](const std::string& name) { return is_shard_of(name, prefix); }))
      continue;  // no list of shards: another program's
    for (const std::string& name : names) {
      const std::string shard = (fs::path(orphan).parent_path() / name).string();
      if (content_says(shard, kHdf5Start, "multicard-")) remove_own_file(shard);
    }
    remove_own_file(orphan);
  }
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

namespace {

/// A shard that is not there although the pattern asks for it and its siblings say that it was written: half a copied
/// set would train on half of the data.
void require_siblings(const std::string& pattern, const std::vector<std::string>& paths) {
  static const std::regex numbered("([\\s\\S]*)-[0-9]{5,}-of-([0-9]{5,})\\.h5");
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
      if (glob_covers(pattern, sibling) && !fs::exists(sibling))
        throw DataError(fmt::format("{} is missing", sibling), fmt::format("{} is there", path),
                        "Copy or prepare all shards of the set, or name the files to use one by one.");
    }
  }
}

}  // namespace

std::vector<std::string> files_of_shards(const std::string& pattern) {
  try {
    return expand_glob(pattern);
  } catch (const DataError& error) {
    throw DataError(error.problem(), error.why(), "multicard prepare writes shards: multicard help prepare");
  }
}

// Root's list counts for all: on a network file system ranks may see different files for a moment.
std::vector<std::string> find_shards(const std::string& pattern, const Communicator& communicator) {
  const std::string found = agreed(communicator, [&] {
    if (!communicator.is_root()) return std::string();
    std::vector<std::string> paths = files_of_shards(pattern);
    std::erase_if(paths, is_reference_file);
    if (paths.empty()) throw DataError(fmt::format("{} names no shards", pattern), "reference log-probabilities alone");
    require_siblings(pattern, paths);
    return packed_paths(paths);
  });
  return unpacked_paths(communicator.broadcast(found));
}

PendingShards::PendingShards(const std::string& prefix, std::int64_t num_shards, const Communicator& communicator)
    : is_root_(communicator.is_root()) {
  if (is_root_) remove_orphans(prefix + "-");  // also of another number of shards
  for (std::int64_t shard = 0; shard < num_shards; ++shard) {
    names_.push_back(shard_path(prefix, shard, num_shards));
    files_.push_back(std::make_unique<PendingFile>(names_.back(), communicator, Orphans::are_removed));
  }
}

void PendingShards::commit() {
  for (const std::unique_ptr<PendingFile>& file : files_)
    file->commit();
}

// First the list is on disk, then every rank knows what to remove on an abort, then names are given. A kill at any
// moment leaves either no name, or names that the list has.
NamingJournal::NamingJournal(const std::string& prefix, std::vector<std::string> names,
                             const Communicator& communicator)
    : names_(std::move(names)), communicator_(communicator), file_(prefix, communicator) {
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    OutputFile list(file_.path());
    std::vector<std::string> in_folder;
    for (const std::string& name : names_)
      in_folder.push_back(fs::path(name).filename().string());
    list.write(packed_paths(in_folder));
    list.close();
  });
  for (const std::string& name : names_)
    tickets_.push_back(on_abort_remove(name));
  file_.be_removed_last();
}

/// The journal is removed after this, by rank 0: by then no rank may be about to remove names.
void NamingJournal::finish() {
  std::for_each(tickets_.begin(), tickets_.end(), cancel_on_abort);
  tickets_.clear();
  communicator_.barrier();
  is_finished_ = true;
}

NamingJournal::~NamingJournal() {
  std::error_code ignored;
  for (const std::string& name : names_)
    if (communicator_.is_root() && !is_finished_) fs::remove(name, ignored);
  std::for_each(tickets_.begin(), tickets_.end(), cancel_on_abort);
}

}  // namespace multicard
