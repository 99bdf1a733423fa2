#pragma once
/// \file What the numbers say, in sentences. A sentence that the data do not support says so instead.

#include <string>
#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// \name Sentences
/// @{
/// The answer where all configurations do the same work: which is best and how sure that is, by how much, what limits
/// it.
std::vector<std::string> answer(const Study& study);
/// The answers where they do not: one line for each kind of work, and which options win how often (no full stop).
std::vector<std::string> answers_by_work(const Study& study);
std::string winners_sentence(const Study& study);
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
/// @}

/// " (95 % interval 801–823 over 3 repeats)", or why there is none.
std::string interval_text(const Estimate& estimate, int digits = 4);

}  // namespace multicard::post
