#pragma once
/// \file What `multicard eval` evaluates.

#include <optional>
#include <string>
#include <vector>

#include "Commands.hpp"
#include "config/Deck.hpp"
#include "data/shards/PixelStatistics.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

/// What is evaluated, as rank 0 found it.
struct EvalSubject {
  Deck deck;
  std::string weights;                       ///< safetensors file
  std::string origin;                        ///< what the file is, in words
  std::optional<PixelStatistics> normalize;  ///< of the pixels, where neither deck nor training shards say it
  std::vector<std::string> class_names;      ///< of the images that the weights were trained on, where it is known
};

/// Collective. Finds the deck and the weights. \throws UsageError and DataError on all ranks
EvalSubject find_eval_subject(const EvalArguments& arguments, const Communicator& world);

/// The deck's options, less what only training needs.
RunOptions evaluation_options(const EvalSubject& subject);

}  // namespace multicard
