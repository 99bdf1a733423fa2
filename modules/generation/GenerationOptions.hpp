#pragma once
/// \file What a language model is asked when it is evaluated.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace multicard {

/// Upper bound of the length of answers.
inline constexpr std::int64_t kMostNewTokens = 1 << 20;

/// Questions with known answers that a language model is asked.
struct QuestionOptions {
  std::string file;                   ///< JSON lines with question and answer, as GSM8K has them
  std::optional<std::int64_t> limit;  ///< ask only the first `limit` of them
  std::int64_t max_new = 256;         ///< tokens of an answer at most
};

/// What is asked before the first step and at the end.
struct GenerationOptions {
  std::optional<QuestionOptions> questions = std::nullopt;  ///< before the first step with evaluate.at_start only
  std::vector<std::string> prompts = {};                    ///< whose answers are kept
  std::int64_t max_new = 64;                                ///< tokens of such an answer at most
};

}  // namespace multicard
