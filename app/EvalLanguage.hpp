#pragma once
/// \file The part of `multicard eval` that is about language models.

#include <string>

#include "Commands.hpp"
#include "config/Deck.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

/// What is evaluated.
struct LanguageSubject {
  RunOptions options;
  Deck deck;
  std::string weights;  ///< safetensors file of what was trained; empty: the base model as it is
  std::string origin;   ///< what that is, in words
};

/// Collective. Loss and perplexity on the test shards; writes them to the file `results`.
ExitCode eval_language(const EvalArguments& arguments, const LanguageSubject& subject, const std::string& results,
                       const Communicator& world);

}  // namespace multicard
