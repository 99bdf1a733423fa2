#pragma once
/// \file What the report says of tasks that shared the ranks of one job.

#include <string>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// One line for each task and the ranks that it had for some time: predicted and measured seconds of a step. Empty
/// where no file is of a share.
std::string allocation_html(const Study& study);

}  // namespace multicard::post
