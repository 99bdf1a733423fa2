#pragma once
/// \file From results files to a study.

#include <string>
#include <vector>

#include "postproc/Study.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

/// Who wrote `file`.
Source source_of(const ResultsFile& file);

/// Reads and reduces all runs of all files. Throws DataError for what is not a results file or holds no run.
Study read_study(const std::vector<std::string>& paths);

}  // namespace multicard::post
