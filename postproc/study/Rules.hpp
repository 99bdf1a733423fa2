#pragma once
/// \file The rules by which a study is judged, in the order of the report.

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// What answers the study: of one kind of work what answer() says, of tuning methods which memory they need, of other
/// kinds of work who wins each; then what limits the answer ("repeats", "failures", "early_stops").
Findings answers_of(const Study& study);

/// What to use: options, settings that change what is learnt, numbers of ranks. Empty for a study that varied nothing.
Findings advice_of(const Study& study);

}  // namespace multicard::post
