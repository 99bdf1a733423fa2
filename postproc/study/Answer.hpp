#pragma once
/// \file The answer of a study: which configuration is the fastest, and how certain that is.

#include <string>
#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The answer where all configurations do the same work: which is best, by how much and how certain that is, and the
/// bottleneck.
std::vector<std::string> answer(const Study& study);
/// The answers where they do not: one line for each kind of work, and which options win how often (no full stop).
std::vector<std::string> answers_by_work(const Study& study);
std::string winners_sentence(const Study& study);

}  // namespace multicard::post
