#pragma once
/// \file What tuning a language model changed: scores and answers before the first step and after the last.

#include <string>
#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// A line of the table: a measure, its values and their difference, as text; "–" for what is not known.
struct ChangeLine {
  std::string measure, before, after, change;
};

/// Test loss, perplexity or rewards, and exact match, of those that are known.
std::vector<ChangeLine> change_lines(const TuningReport& report);

/// The runs of a study that have a TuningReport: heading ("run 0003: ddp, fp32, 2 ranks"; of a single run empty).
struct TunedRun {
  const RunReport* run;
  std::string heading;
};
std::vector<TunedRun> tuned_runs(const Study& study);

}  // namespace multicard::post
