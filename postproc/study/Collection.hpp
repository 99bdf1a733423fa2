#pragma once
/// \file Groups the runs of results files into studies.

#include <string>
#include <vector>

#include "postproc/reduce/ProvenanceFilter.hpp"
#include "postproc/study/CountedMethods.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The contents of all given files.
struct Collection {
  std::vector<Source> sources;
  std::vector<Study> studies;               ///< of what was timed; their runs name sources by Study::sources
  std::vector<RunReport> evaluated;         ///< runs with an evaluation; they name sources by `sources`
  std::vector<std::string> notices;         ///< what a reader must know before anything else
  std::vector<CountedMethod> counted = {};  ///< on a simulated GPU
};

/// The runs of all files as studies. Files in whose runs the same settings differ are one study: the same sweep
/// continued, repeated or on another machine. Others stand as studies of their own, and so do the image and the text
/// work of one file (a share). Throws what read_runs() throws.
/// \param keys of this program, for files that say nothing of theirs
/// \param filter of everything that stands in one report
Collection read_results(const std::vector<std::string>& paths, const std::vector<SettingKey>& keys,
                        ProvenanceFilter& filter);
/// With a filter of its own.
Collection read_results(const std::vector<std::string>& paths, const std::vector<SettingKey>& keys = {});

}  // namespace multicard::post
