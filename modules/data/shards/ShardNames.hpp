#pragma once
/// \file The files of a set of shards.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "io/AtomicFile.hpp"

namespace multicard {

/// PREFIX-00000-of-00004.h5
std::string shard_path(const std::string& prefix, std::int64_t shard, std::int64_t num_shards);

/// Removes the shards of a process that was killed between giving the first and the last of them their names, see
/// NamingJournal. For rank 0, with the prefix of all sets.
void free_interrupted_names(const std::string& prefix);

/// A DataError if shards of this prefix are there already, in any number.
void require_no_shards(const std::string& prefix);

/// The files that a path or glob names. \throws DataError if there are none, which says what writes shards
std::vector<std::string> files_of_shards(const std::string& pattern);

/// Collective. The sorted files that a path or glob names on rank 0, without those of ReferenceFile.hpp. \throws
/// DataError on all ranks if there are none, or if a shard is missing whose name the glob covers and whose siblings are
/// there.
std::vector<std::string> find_shards(const std::string& pattern, const Communicator& communicator);

/// The shards of one set while they are written.
class PendingShards {
 public:
  /// Collective.
  PendingShards(const std::string& prefix, std::int64_t num_shards, const Communicator& communicator);

  std::int64_t size() const { return static_cast<std::int64_t>(files_.size()); }
  /// Where to write a shard.
  const std::string& path(std::int64_t shard) const { return files_[static_cast<std::size_t>(shard)]->path(); }
  /// What the shards will be called.
  const std::vector<std::string>& names() const { return names_; }
  /// Collective. Gives the files their names, under a NamingJournal.
  void commit();

 private:
  bool is_root_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<PendingFile>> files_;
};

/// The final names of all files of these writers.
template <class Writers>
std::vector<std::string> names_of(const Writers& writers) {
  std::vector<std::string> names;
  for (const auto& writer : writers)
    names.insert(names.end(), writer->paths().begin(), writer->paths().end());
  return names;
}

/// All shards of all sets get their names, or none keeps it. While one exists, the names stand in a temporary file in
/// the folder of the shards: without finish() they are removed, by its destructor, by an abort of the job, or, after a
/// kill, by free_interrupted_names() of the next launch with this prefix.
///
/// An abort may come from any rank, while rank 0 gives names, and be cut short by a kill. So every rank removes first
/// the unnamed shards (then nothing more can get a name), then the names, and the journal last.
class NamingJournal {
 public:
  /// Collective. `names` are free, and in the folder of `prefix`.
  NamingJournal(const std::string& prefix, std::vector<std::string> names, const Communicator& communicator);
  ~NamingJournal();
  NamingJournal(const NamingJournal&) = delete;
  NamingJournal& operator=(const NamingJournal&) = delete;

  /// Collective. Every file has its name: from now on no rank removes one.
  void finish();

 private:
  std::vector<std::string> names_;
  Communicator communicator_;
  bool is_finished_ = false;
  PendingFile file_;  ///< never committed
  std::vector<int> tickets_;
};

}  // namespace multicard
