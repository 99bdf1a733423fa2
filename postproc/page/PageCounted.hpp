#pragma once
/// \file What was counted on a simulated GPU, in the report.

#include <string>
#include <vector>

#include "postproc/study/CountedMethods.hpp"

namespace multicard::post {

/// The heading of their part of the page.
inline constexpr const char* kCountedHeading = "Counted on a simulated GPU, not timed";

/// Launches, copies, all-reduced bytes and memory of a step of each method; empty where nothing was counted.
std::string counted_html(const std::vector<CountedMethod>& methods);

}  // namespace multicard::post
