#pragma once
/// \file What `multicard-post trace` and `multicard-post profile` read.

#include <cstdint>
#include <string>
#include <vector>

#include "postproc/trace/TraceReport.hpp"

namespace multicard::post {

/// Which ranks of a run are shown. By default each of a few, and the sum of many.
struct RankChoice {
  std::vector<std::int64_t> ranks;  ///< these, if any
  bool is_every = false;            ///< each, however many there are
};

/// Of the words of --rank: numbers, or "all". \throws UsageError for others
RankChoice rank_choice(const std::vector<std::string>& words);

/// A file whose trace has no rank has its place among the files.
/// \throws DataError where a file cannot be read, UsageError where two files are of one rank
ProfileSet read_traces(const std::vector<std::string>& files);

/// The profile that a run has recorded in a results file. \param run empty: the only one with a profile
/// \throws DataError where the file cannot be read, UsageError where the run does not exist, has no profile, or none of
/// a rank that is chosen
ProfileSet read_run_profile(const std::string& file, const std::string& run, const RankChoice& choice);

}  // namespace multicard::post
