#pragma once
/// \file What models predict for more ranks, in the report.

#include <string>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// One line per configuration with a prediction; empty without any.
std::string scaling_html(const Study& study);

}  // namespace multicard::post
