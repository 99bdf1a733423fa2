#pragma once
/// \file Shares as people read them.

#include <string>

namespace multicard {

/// "54.2 %" of 0.542; "< 0.1 %" of a share that would round to none, "–" of NaN.
std::string percent(double share);

}  // namespace multicard
