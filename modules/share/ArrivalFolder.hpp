#pragma once
/// \file Tasks that come while a share runs.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "share/ShareOptions.hpp"
#include "share/ShareRecord.hpp"

namespace multicard {

/// A folder into which others rename task entries (*.yaml). A file is claimed once: its entry is noted in the record,
/// which must be written before claim() renames the file to NAME.yaml.claimed, so that a job that is killed in between
/// finds the entry in the record and claims the file when it resumes. An entry that cannot be used becomes
/// NAME.yaml.refused, with a warning.
class ArrivalFolder {
 public:
  explicit ArrivalFolder(std::optional<std::string> folder) : folder_(std::move(folder)) {}

  /// For one process: what has come since. A file whose entry the record knows is only claimed; another entry in a
  /// file of a name that was used before is a new task.
  std::vector<ShareArrival> find(const ShareOptions& options, const ShareRecord& known);
  /// The entries are in a record on disk.
  static void claim(const std::vector<ShareArrival>& arrivals);

 private:
  std::optional<std::string> folder_;
  std::set<std::string> warned_;  ///< what has been said of files that cannot be renamed
};

}  // namespace multicard
