#pragma once
/// \file When a run is evaluated, and what a language model is asked.

#include <cstdint>
#include <optional>

#include "config/DeckKey.hpp"
#include "generation/GenerationOptions.hpp"

namespace multicard {

struct EvaluateOptions : GenerationOptions {
  std::int64_t every_epochs = 1;      ///< 0: not by epochs
  std::int64_t every_steps = 0;       ///< 0: not by steps
  bool at_start = false;              ///< also before the first step
  std::optional<std::int64_t> limit;  ///< evaluate the first samples only
  std::int64_t patience = 0;          ///< evaluations in a row without improvement that end the run; 0: none do
  double min_delta = 0;               ///< a smaller improvement of the score is none

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
