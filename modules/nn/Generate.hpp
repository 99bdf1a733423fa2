#pragma once
/// \file Continuing a text with a language model.

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/Llama.hpp"

namespace multicard {

struct SamplingOptions {
  double temperature = 1.0;  ///< logits are divided by it; 0: always the token with the largest logit
  double top_p = 1.0;  ///< only the most probable tokens that together have this probability (Holtzman et al. 2019)
  std::uint64_t seed = 1;
};

/// Draws tokens, the same ones for the same seed and logits.
class TokenSampler {
 public:
  /// UsageError for a temperature below 0 and a top_p outside (0, 1].
  explicit TokenSampler(const SamplingOptions& options);

  /// A token for logits [vocabulary]; the lower one of equally likely ones comes first.
  std::int64_t next(const at::Tensor& logits);

 private:
  SamplingOptions options_;
  std::uint64_t num_drawn_ = 0;
};

/// Whether a generated text ends where an end token is drawn.
enum class EndTokens { stop, ignore };

struct GenerateOptions {
  SamplingOptions sampling;
  std::int64_t max_new = 128;
  EndTokens end_tokens = EndTokens::stop;
  std::vector<std::int64_t> more_ends = {};  ///< end tokens beside LlamaConfig::eos
};

/// Tokens that follow `prompt` (not empty), without the end token that stopped them. `on_token` is called with each as
/// soon as it is known; generation stops when it returns false.
std::vector<std::int64_t> generate(
    Llama& network, const std::vector<std::int64_t>& prompt, const GenerateOptions& options,
    const std::function<bool(std::int64_t)>& on_token = [](std::int64_t) { return true; });

}  // namespace multicard
