#pragma once
/// \file What tuning a language model changed, as the run recorded it.

#include <optional>

#include "postproc/reduce/RunReport.hpp"

namespace multicard::post {

/// Nothing for other tasks, and where nothing was measured before the first step and nothing was asked.
std::optional<TuningReport> reduce_tuning(const RunSummary& summary);

}  // namespace multicard::post
