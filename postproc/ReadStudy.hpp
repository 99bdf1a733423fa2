#pragma once
/// \file From results files to studies.

#include <string>
#include <vector>

#include "postproc/Study.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// Who wrote `file`.
Source source_of(const ResultsFile& file);

/// Reads and reduces all runs of all files. Files in whose runs the same settings differ are one study: the same sweep
/// continued, repeated or on another machine. Others stand as studies of their own. A run that an earlier file held
/// already (a file given twice, or its copy) counts once, and a notice says so. Throws DataError for what is not a
/// results file or holds no run.
Collection read_results(const std::vector<std::string>& paths);

}  // namespace multicard::post
