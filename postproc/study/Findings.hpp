#pragma once
/// \file What the numbers say, in sentences. A sentence that the data do not support says so instead.

#include <string>
#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// \name Sentences
/// @{
/// What is unknown because configurations were run once; empty when all were repeated.
std::string repeats_sentence(const Study& study);
std::string comparison_sentence(const Study& study, const Cell& best, const Cell& other, const std::string& role);
std::string scaling_sentence(const Study& study, const Cell& cell);
std::string limit_sentence(const Study& study, const Cell& cell);
std::string ranks_sentence(const Study& study, const Cell& cell);
/// Whether runs that should learn the same did.
std::string loss_sentence(const Study& study, const std::vector<const Cell*>& cells);
/// What did not complete; empty when everything did.
std::string failures_sentence(const Study& study);
/// Which runs ended before their last step because evaluations no longer improved; empty when none did.
std::string early_stops_sentence(const Study& study);
/// @}

/// " (95 % interval 801–823 over 3 repeats)", or why there is none.
std::string interval_text(const Estimate& estimate, int digits = 4);

}  // namespace multicard::post
