#pragma once
/// \file The answer of a study: what a training reached, or which configuration is the fastest and how certain that is.

#include "postproc/study/Statement.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The answer where all configurations do the same work. Of one training: "training", what it reached in which time.
/// Of one configuration on several numbers of ranks "speedup" first; of several "fastest", which one and how certain
/// that is. Then "runner-up", "baseline", "speedup" and "bottleneck".
Statements answer(const Study& study);
/// The answers where they do not: one statement "work-N" for each kind of work.
Statements answers_by_work(const Study& study);
/// "winners": which options win how often (no full stop).
Statement winners_statement(const Study& study);

/// All statements that answer the study, in the order of the page: those above, then "repeats", "failures" and
/// "early_stops"; of tuning methods what memory_limit_sentences() say instead.
Statements all_answers(const Study& study);

}  // namespace multicard::post
