#pragma once
/// \file `multicard-post trace`: traces of Kineto to tables and a page.

#include <optional>
#include <string>
#include <vector>

#include "profile/Profile.hpp"

namespace multicard::post {

/// A trace file and what it says.
struct TracedRank {
  std::string file;
  std::int64_t num_events = 0;
  std::vector<std::string> notices;
  Profile profile;
};

/// In the order of ranks. A file whose trace has no rank has its place among the files.
/// \throws DataError where a file cannot be read, UsageError where two files are of one rank
std::vector<TracedRank> read_traces(const std::vector<std::string>& files);

/// Every table as text, `most` rows of each rank in long ones. \param columns width of the terminal; none: unlimited
std::string traces_text(const std::vector<TracedRank>& ranks, std::size_t most, std::optional<std::size_t> columns);

/// The names that traces_csv() knows.
std::vector<std::string> trace_table_names();
/// One table, all rows. \pre `table` is one of trace_table_names()
std::string traces_csv(const std::vector<TracedRank>& ranks, const std::string& table);

std::string traces_json(const std::vector<TracedRank>& ranks);

/// Writes trace.html, trace.json and a CSV file for each table; returns the page's path. \throws UsageError, DataError
std::string write_trace_report(const std::vector<TracedRank>& ranks, const std::string& folder);

}  // namespace multicard::post
