#pragma once
/// \file Which files `multicard-post trace` and `multicard-post profile` read together, and what a folder may hold.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "profile/trace/Trace.hpp"

namespace multicard::post {

/// The traces of one job, as they say themselves.
class JobOfTraces {
 public:
  /// \param rank that of the trace, or its place among the files
  /// \throws UsageError where two traces are of one rank, or of jobs of different sizes
  void add(const std::string& file, std::int64_t rank, const Trace& trace);

  /// \throws UsageError where a trace says a rank that a job of the size which another one says does not have
  void require_ranks_within() const;

 private:
  struct Size {
    std::int64_t ranks = 0;
    std::string file;
  };

  std::map<std::int64_t, std::string> file_of_;         ///< by rank
  std::map<std::int64_t, std::string> stated_file_of_;  ///< those whose trace says the rank
  std::optional<Size> size_;
};

/// Reports of both kinds have CSV files of the same names. \param kind of the one to write: "trace" or "profile"
/// \throws UsageError where the folder has a report of the other kind
void require_no_other_report(const std::filesystem::path& folder, const std::string& kind);

}  // namespace multicard::post
