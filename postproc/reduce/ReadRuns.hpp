#pragma once
/// \file Reads results files and reduces each of their runs.

#include <string>
#include <vector>

#include "postproc/reduce/ProvenanceFilter.hpp"
#include "postproc/reduce/RunReport.hpp"
#include "postproc/reduce/Source.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// The contents of results files, run by run; RunReport::source is an index into `sources`.
struct RunsOfFiles {
  std::vector<Source> sources;
  std::vector<RunReport> timed;
  std::vector<RunReport> evaluated;  ///< runs with an evaluation; those that were timed too are in both
  std::vector<std::string> notices;  ///< what a reader must know before anything else
};

/// The results files that are named: of a folder its results.h5. \throws DataError for a folder without one
std::vector<std::string> results_paths(const std::vector<std::string>& names);

/// Who wrote `file`, where and how.
Source source_of(const ResultsFile& file);

/// Reads and reduces all runs of all files. A run that an earlier file already held (a file given twice, or a copy)
/// counts once, and a notice says so. What is private is filtered from all texts. Throws DataError for what is not a
/// results file or holds no run.
RunsOfFiles read_runs(const std::vector<std::string>& paths, ProvenanceFilter& filter);

}  // namespace multicard::post
