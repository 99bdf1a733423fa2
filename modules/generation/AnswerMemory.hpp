#pragma once
/// \file How much memory the answers of a language model take, before it gives them.

#include <cstdint>
#include <span>

#include "device/AllocationTrace.hpp"
#include "nn/language/Llama.hpp"

namespace multicard {

/// Keys and values of the answers' tokens, and what else the passes over tokens hold.
class AnswerMemory {
 public:
  /// Measures passes over few tokens. The network must be in Mode::evaluate. \throws c10::Error of a device that fails
  explicit AnswerMemory(Llama& network);

  /// The most that generate() holds when it continues prompts of these lengths together, each by `max_new` tokens.
  std::int64_t peak(std::span<const std::int64_t> prompts, std::int64_t max_new) const;

 private:
  /// Of keys and values when the texts are as long as they get.
  std::int64_t longest_caches(std::span<const std::int64_t> prompts, std::int64_t max_new) const;

  std::int64_t num_layers_;
  std::int64_t bytes_per_token_;       ///< of keys and values
  std::int64_t logits_bytes_;          ///< of a text
  MeasuredPair reading_, continuing_;  ///< of tokens that are read together; of one token after others
};

}  // namespace multicard
