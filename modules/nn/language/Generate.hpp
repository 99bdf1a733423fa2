#pragma once
/// \file Continuing texts with a language model.

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/language/Llama.hpp"

namespace multicard {

struct SamplingOptions {
  double temperature = 1.0;  ///< logits are divided by it; 0: always the token with the largest logit
  std::int64_t top_k = 0;    ///< only that many tokens with the largest logits, and those equal to the last; 0: all
  double top_p = 1.0;  ///< only the most probable tokens that together have this probability (Holtzman et al. 2019)
  /// Of tokens that have been read, positive logits are divided by it and negative ones multiplied (Keskar et al. 2019,
  /// arXiv 1909.05858, as transformers has it); 1: off.
  double repetition_penalty = 1.0;
  std::uint64_t seed = 1;
};

/// Draws the tokens of one text, the same ones for the same seed, logits and tokens read.
class TokenSampler {
 public:
  /// UsageError for a temperature or top_k below 0, a top_p outside (0, 1] and a penalty that is not above 0.
  explicit TokenSampler(const SamplingOptions& options);

  /// Tokens of the prompt, or drawn ones: what the repetition penalty is for.
  void read(const std::vector<std::int64_t>& tokens);
  /// A token for logits [vocabulary]; the lower one of equally likely ones comes first.
  std::int64_t next(const at::Tensor& logits);

 private:
  at::Tensor penalised(const at::Tensor& logits);

  SamplingOptions options_;
  std::vector<std::int64_t> unmarked_;  ///< read, but not in is_read_ yet
  at::Tensor is_read_;                  ///< bool [vocabulary]; undefined without a penalty
  std::uint64_t num_drawn_ = 0;
};

/// Whether a generated text ends where an end token is drawn.
enum class EndTokens { stop, ignore };

struct GenerateOptions {
  SamplingOptions sampling;  ///< of the first prompt; the seed of each other one is one more than that before it
  std::int64_t max_new = 128;
  EndTokens end_tokens = EndTokens::stop;
  std::vector<std::int64_t> more_ends = {};  ///< end tokens in addition to LlamaConfig::eos
  std::int64_t batch = 1;                    ///< prompts that are continued at once, at most
};

/// Why a text ends.
enum class Finish {
  end_token,  ///< one was drawn
  length,     ///< max_new tokens were drawn
  stopped     ///< the callback stopped it
};

struct Generated {
  std::vector<std::int64_t> tokens;  ///< without the end token
  Finish finish = Finish::length;
};

/// What follows each of `prompts` (none empty). `on_token` is called with the number of the prompt and each token as
/// soon as it is known; that text ends when it returns false. A batch has as many prompts as options.batch: where one
/// ends the next takes its place, and no prompt sees another. The batch moves logits by rounding alone.
std::vector<Generated> generate(
    Llama& network, const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& options,
    const std::function<bool(std::size_t, std::int64_t)>& on_token = [](std::size_t, std::int64_t) { return true; });

}  // namespace multicard
