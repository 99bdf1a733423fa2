#pragma once
/// \file The weights and the test set of an evaluation.

#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "config/Deck.hpp"
#include "data/shards/PixelStatistics.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// What a user asks for.
struct EvaluationRequest {
  std::string source;                  ///< a deck, or the folder of a checkpoint
  std::vector<std::string> overrides;  ///< key.path=value
};

/// What is evaluated, as rank 0 found it.
struct EvaluationSubject {
  Deck deck;
  std::string weights;                       ///< safetensors file of what was trained; empty: the base model as it is
  std::string origin;                        ///< what the file is, in words
  std::optional<PixelStatistics> normalize;  ///< of the pixels, where neither deck nor training shards say it
  std::vector<std::string> class_names;      ///< of the images that the weights were trained on, where it is known
};

/// Collective. Finds the deck and the weights. \throws UsageError and DataError on all ranks
EvaluationSubject find_evaluation_subject(const EvaluationRequest& request, const Communicator& world);

/// The deck's options, less what only training needs.
RunOptions evaluation_options(const EvaluationSubject& subject);

}  // namespace multicard
