#pragma once
/// \file The answer of a study: what a training reached, or which configuration is the fastest and how certain that is.

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The answer where all configurations do the same work. Of one training: "training", what it reached in which time.
/// Of one configuration on several numbers of ranks "speedup" first; of several "fastest", which one and how certain
/// that is. Then "runner-up", "baseline", "speedup" and "bottleneck".
Findings answer(const Study& study);
/// The answers where they do not: "work-N" for each kind of work.
Findings answers_by_work(const Study& study);
/// "winners": which options win how often (no full stop).
Finding winners_finding(const Study& study);

}  // namespace multicard::post
