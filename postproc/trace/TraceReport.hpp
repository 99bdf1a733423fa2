#pragma once
/// \file `multicard-post trace` and `multicard-post profile`: traces of Kineto, or the profile of a run, to tables and
/// a page.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postproc/reduce/ProvenanceFilter.hpp"
#include "profile/Profile.hpp"

namespace multicard::post {

/// What one rank has profiled, and where that was read.
struct ProfiledRank {
  std::string file;
  std::optional<std::int64_t> num_events = std::nullopt;  ///< of a trace
  Profile profile;
};

/// Profiles of some ranks, in the order of ranks.
struct ProfileSet {
  std::string kind;     ///< of the files that are written: "trace" or "profile"
  std::string subject;  ///< in titles: "trace.json", "results.h5"
  std::vector<ProfiledRank> ranks;
  std::vector<std::string> notices;  ///< what no table can show
};

/// A file whose trace has no rank has its place among the files.
/// \throws DataError where a file cannot be read, UsageError where two files are of one rank
ProfileSet read_traces(const std::vector<std::string>& files);

/// The profile that a run has recorded in a results file. \param run empty: the only one with a profile
/// \throws DataError where the file cannot be read, UsageError where the run does not exist or has no profile
ProfileSet read_run_profile(const std::string& file, const std::string& run);

/// Takes what is private out of file names and notices.
void filter(ProfileSet& set, ProvenanceFilter by);

/// Every table as text, `most` rows of each rank in long ones. \param columns width of the terminal; none: unlimited
std::string profile_text(const ProfileSet& set, std::size_t most, std::optional<std::size_t> columns);

/// The names that profile_csv() knows.
std::vector<std::string> profile_table_names();
/// One table, all rows. \pre `table` is one of profile_table_names()
std::string profile_csv(const ProfileSet& set, const std::string& table);

std::string profile_json(const ProfileSet& set);

/// Writes KIND.html, KIND.json and a CSV file for each table; returns the page's path. \throws UsageError, DataError
std::string write_profile_report(const ProfileSet& set, const std::string& folder);

}  // namespace multicard::post
