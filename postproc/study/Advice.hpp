#pragma once
/// \file What to use, as far as the data tell. Every sentence is computed; where the data do not decide, it says so.

#include <string>
#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// A sentence for each option that was varied (the value to use, its effect against the baseline value, how sure that
/// is and where it differs), then one for each kind of work on how many ranks pay. Empty for a study that varied
/// nothing.
std::vector<std::string> advice(const Study& study);

}  // namespace multicard::post
