#pragma once
/// \file A plan as a picture: which task has which GPUs when.

#include <string>
#include <vector>

#include "scheduling/plan/Plan.hpp"

namespace multicard {

/// An SVG document with a chart for each plan: seconds across, GPUs down, a colour for each task. GPUs are numbered for
/// the picture alone: a task gets those next to each other where as many are free. Tasks without an end reach the right
/// edge. A machine that cannot hold the tasks is a line of text.
std::string plan_svg(const std::vector<Plan>& plans);

/// Whether a file is such a picture.
bool is_plan_svg(const std::string& path);

}  // namespace multicard
