#pragma once
/// \file Recommendations. Every sentence is computed from the data; where these do not decide, it says so.

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// "option.KEY" for each option that was varied: the value to use, its effect against the baseline value, how certain
/// that is and where it differs.
Findings option_advice(const Study& study);

/// "ranks": for each kind of work, the most ranks on which its fastest options keep kWorthwhileEfficiency; empty where
/// no efficiency has an interval.
Finding ranks_advice(const Study& study);

}  // namespace multicard::post
