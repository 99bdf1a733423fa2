#pragma once
/// \file How cells of a study of a claim are judged, and the words for that.

#include <string>

#include "postproc/reduce/Statistics.hpp"

namespace multicard::post {

/// Whether a change reaches what is claimed: its whole interval does, none of it does, or neither.
enum class Verdict { reached, missed, open };
/// \param ratio  what is measured over its baseline  \param claimed  a change: -0.32
Verdict verdict_of(const Estimate& ratio, double claimed);
/// "reached", "not reached", "open"
const char* text_of(Verdict verdict);

/// "−4.0 % [−9.0, +1.0]" of a ratio.
std::string change_text(const Estimate& ratio);

/// Of the losses of an exchange with those of the first one: within the rule with every seed; or further off, but no
/// further than those of the control, which decides nothing; or further than both.
enum class Parity { accepted, within_control, refused };
const char* text_of(Parity parity);

}  // namespace multicard::post
