#pragma once
/// \file When a run is evaluated, and what a language model is asked.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/DeckKey.hpp"

namespace multicard {

/// Upper bound of the length of answers.
inline constexpr std::int64_t kMostNewTokens = 1 << 20;

/// Questions with known answers that a language model is asked.
struct QuestionOptions {
  std::string file;                   ///< JSON lines with question and answer, as GSM8K has them
  std::optional<std::int64_t> limit;  ///< ask only the first of them, this many
  std::int64_t max_new = 256;         ///< tokens of an answer at most
};

struct EvaluateOptions {
  std::int64_t every_epochs = 1;      ///< 0: not by epochs
  std::int64_t every_steps = 0;       ///< 0: not by steps
  bool at_start = false;              ///< also before the first step
  std::optional<std::int64_t> limit;  ///< evaluate the first samples only
  std::int64_t patience = 0;          ///< evaluations in a row without improvement that end the run; 0: none do
  double min_delta = 0;               ///< a smaller improvement of the score is none
  // Of language models, asked before the first step and at the end.
  std::optional<QuestionOptions> questions = std::nullopt;  ///< before the first step with at_start only
  std::vector<std::string> prompts = {};                    ///< whose answers are kept
  std::int64_t max_new = 64;                                ///< tokens of such an answer at most

  /// Whether a run with test data ever scores them.
  bool scores_test_data() const { return every_epochs > 0 || every_steps > 0 || at_start; }
};

/// Whether there are test shards to evaluate on.
enum class HasTestData { no, yes };

/// Whether the model can answer.
enum class GeneratesText { no, yes };

/// Without test data nothing is evaluated, but questions and prompts are answered all the same.
/// \param evaluate the section evaluate
EvaluateOptions read_evaluate_options(Section& evaluate, HasTestData data, GeneratesText generates);

/// The keys of evaluate.
DeckKeys evaluate_keys();

}  // namespace multicard
