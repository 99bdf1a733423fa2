#pragma once
/// \file Kinds of text data sets.

#include <string>
#include <string_view>

#include "config/Words.hpp"

namespace multicard {

enum class DatasetType { alpaca, chat, prompt_completion, text, question_answer, preference, tokens };
inline constexpr Word<DatasetType> kDatasetTypeWords[] = {{"alpaca", DatasetType::alpaca},
                                                          {"chat", DatasetType::chat},
                                                          {"prompt-completion", DatasetType::prompt_completion},
                                                          {"text", DatasetType::text},
                                                          {"question-answer", DatasetType::question_answer},
                                                          {"preference", DatasetType::preference},
                                                          {"tokens", DatasetType::tokens}};

/// \throws UsageError naming the words for anything else
DatasetType dataset_type(std::string_view name);
std::string name_of(DatasetType type);

/// Which tokens are targets.
enum class LossOn {
  completion,  ///< those of answers
  all          ///< every token that has one before it
};
inline constexpr Word<LossOn> kLossOnWords[] = {{"completion", LossOn::completion}, {"all", LossOn::all}};

/// \throws UsageError for anything but a word
LossOn loss_on(std::string_view name);

}  // namespace multicard
