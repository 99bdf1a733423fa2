#pragma once
/// \file The scores of an evaluation in sentences.

#include <string>
#include <utility>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/reduce/RunReport.hpp"

namespace multicard::post {

/// "Accuracy 0.913 (95 % interval 0.907–0.919 over 10,000 samples), among the first five 0.998, mean loss 0.241." Of a
/// language model "Test loss 1.43, perplexity 4.179 over 110 sequences (13,412 tokens, 2,803 of them targets)."
std::string score_sentence(const EvaluationReport& report);

/// The misclassifications, the most frequent first.
std::vector<ConfusionCount> mistakes(const EvaluationReport& report);

/// "confusion": the most frequent confusion of two classes, without full stop.
Finding confusion_finding(const EvaluationReport& report);

/// What was evaluated: model, weights, run.
std::string evaluation_name(const RunReport& run);

/// Names and values: model, data set and settings of the evaluation; for a language model its scores too.
std::vector<std::pair<std::string, std::string>> evaluation_facts(const RunReport& run);

}  // namespace multicard::post
