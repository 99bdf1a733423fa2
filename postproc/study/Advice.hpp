#pragma once
/// \file Recommendations. Every sentence is computed from the data; where these do not decide, it says so.

#include "postproc/study/Statement.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// A sentence for each option that was varied (the value to use, its effect against the baseline value, how sure that
/// is and where it differs), then one for each kind of work on how many ranks are efficient. Empty for a study that
/// varied nothing.
Statements advice(const Study& study);

}  // namespace multicard::post
