#pragma once
/// \file Kinds of text data sets.

#include <string>
#include <string_view>

namespace multicard {

enum class DatasetType { alpaca, chat, prompt_completion, text, question_answer, preference, tokens };

/// "prompt-completion" and so on; a UsageError naming them for anything else.
DatasetType dataset_type(std::string_view name);
std::string name_of(DatasetType type);

/// Which tokens are targets.
enum class LossOn {
  completion,  ///< those of answers
  all          ///< every token that has one before it
};

/// "completion" or "all"; a UsageError for anything else.
LossOn loss_on(std::string_view name);

}  // namespace multicard
