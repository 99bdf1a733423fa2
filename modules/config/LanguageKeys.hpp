#pragma once
/// \file The keys of decks that tune language models; for modules/config only.

#include <string>

#include "config/RunOptions.hpp"
#include "config/Section.hpp"

namespace multicard {

ModelOptions read_language_model(Section section);

/// With model.adapter, rank, alpha, rslora and targets are the adapter's and stay empty unless set.
MethodOptions read_method(Section section, const ModelOptions& model);

/// How sequences make rows.
void read_rows(Section& data, DataOptions& options);

/// The questions and prompts that the model is to answer.
void read_asked(Section& evaluate, EvaluateOptions& options);

/// Keys that only the other task has are wrong, and are named as such.
void refuse_keys_of_other_task(Section& root, const Deck& deck, const std::string& task);

}  // namespace multicard
