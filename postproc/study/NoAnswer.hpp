#pragma once
/// \file What is said where no run has a rate.

#include <cstddef>
#include <string>
#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// "none": why the runs of these configurations, of which no complete one was measured, have no answer: the most
/// frequent error of those that failed, else that they stopped or were too short.
Finding no_answer_finding(const Study& study, const std::vector<std::size_t>& configurations);

/// Of an error "problem (why) what to do" the problem, with a loss of nan "not finite".
std::string problem_of(const std::string& error);

}  // namespace multicard::post
