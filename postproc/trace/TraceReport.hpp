#pragma once
/// \file `multicard-post trace` and `multicard-post profile`: traces of Kineto, or the profile of a run, to tables and
/// a page.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postproc/reduce/ProvenanceFilter.hpp"
#include "postproc/trace/RecordedSteps.hpp"
#include "profile/Profile.hpp"

namespace multicard::post {

/// What one rank has profiled, and where that was read.
struct ProfiledRank {
  std::string file;
  std::optional<std::int64_t> num_events = std::nullopt;  ///< of a trace
  Profile profile;
};

/// Profiles of some ranks, in the order of ranks, or their sum.
struct ProfileSet {
  std::string kind;                          ///< of the files that are written: "trace" or "profile"
  std::string subject;                       ///< in titles: "trace.json", "results.h5"
  std::vector<ProfiledRank> ranks = {};      ///< of a sum one, of the rank kAllRanks
  std::vector<std::string> notices = {};     ///< what no table can show
  std::vector<RecordedSteps> recorded = {};  ///< by the ranks that the tables are of
  bool is_sum = false;
};

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
