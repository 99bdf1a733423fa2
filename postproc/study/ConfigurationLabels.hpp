#pragma once
/// \file The names of configurations.

#include <map>
#include <string>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The values of the axes that change the work, or of the others: "ddp-ds, fp16".
std::string label_of(const Study& study, const std::map<std::string, std::string>& settings, bool of_work);

/// The name of a configuration when no option differs: the known settings that the runs of the study have in common, or
/// the task of a shared job. `any` is one of its runs.
std::string plain_label(const Study& study, const RunReport& any);

}  // namespace multicard::post
