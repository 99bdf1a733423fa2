#pragma once
/// \file Aliases of the fields of records and of roles.

#include <atomic>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/shards/DatasetType.hpp"

namespace multicard {

/// Renames what a record has before it is read as one of its type: what --map says, and spellings that cannot mean
/// anything else (docs/data.md lists them). One map may be used by several threads.
class RecordMap {
 public:
  /// Each of `options` is NAME=THEIRS (a field of the record), message:NAME=THEIRS (a field of its messages) or
  /// role:NAME=THEIRS (a role). \throws UsageError for one that is not, or that maps a name twice.
  RecordMap(DatasetType type, const std::vector<std::string>& options);

  /// Changes the record in place. What it does not have is left to its reader.
  void apply(nlohmann::ordered_json& record);

  /// For each option whether any record so far had what it names.
  std::vector<bool> uses() const;
  const std::vector<std::string>& options() const { return options_; }

 private:
  struct Renaming {
    std::string to, from;
    std::atomic<bool> is_used{false};
  };

  void add(const std::string& option);
  void rename_roles(nlohmann::ordered_json& messages);

  DatasetType type_;
  std::vector<std::string> options_;
  std::deque<Renaming> renamings_;  ///< one for each option
  std::vector<Renaming*> fields_, message_fields_, roles_;
};

}  // namespace multicard
