#include "nn/Generate.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "nn/Random.hpp"

namespace multicard {

TokenSampler::TokenSampler(const SamplingOptions& options) : options_(options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    throw UsageError("the temperature is " + significant(options.temperature), "it is a number, 0 or above");
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw UsageError("top-p is " + significant(options.top_p), "it is a probability above 0");
}

std::int64_t TokenSampler::next(const at::Tensor& logits) {
  if (options_.temperature == 0) return logits.argmax().item<std::int64_t>();
  const at::Tensor wide = logits.to(at::kCPU, at::kDouble);
  // Divided after the largest is taken off, so that a small temperature does not overflow.
  const at::Tensor probabilities = ((wide - wide.max()) / options_.temperature).softmax(0);
  const auto [sorted, tokens] = probabilities.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
  const auto* chance = sorted.const_data_ptr<double>();
  const std::int64_t count = sorted.numel();
  std::int64_t kept = 0;
  double total = 0;
  while (kept < count && (kept == 0 || total < options_.top_p))
    total += chance[kept++];
  double left = uniform_value(options_.seed, num_drawn_++) * total;
  std::int64_t chosen = 0;
  while (chosen + 1 < kept && left > chance[chosen])
    left -= chance[chosen++];
  return tokens.const_data_ptr<std::int64_t>()[chosen];
}

std::vector<std::int64_t> generate(Llama& network, const std::vector<std::int64_t>& prompt,
                                   const GenerateOptions& options, const std::function<bool(std::int64_t)>& on_token) {
  if (prompt.empty()) throw UsageError("the prompt is empty", "there is nothing to continue");
  std::vector<std::int64_t> ends = network.config().eos;
  ends.insert(ends.end(), options.more_ends.begin(), options.more_ends.end());
  TokenSampler sampler(options.sampling);
  KvCache cache;
  std::vector<std::int64_t> result;
  at::Tensor unread = at::tensor(prompt, at::kLong).to(network.device());
  while (static_cast<std::int64_t>(result.size()) < options.max_new) {
    const at::Tensor logits = network.next_logits(unread, cache);
    if (!std::isfinite(logits.max().item<double>()))  // NaN wins against every number
      throw NumericalError("the model's logits are not finite", fmt::format("at token {} of the answer", result.size()),
                           "Its weights have diverged or are damaged; fp16 can also overflow: try --dtype fp32.");
    const std::int64_t token = sampler.next(logits);
    const bool is_end = std::find(ends.begin(), ends.end(), token) != ends.end();
    if (is_end && options.end_tokens == EndTokens::stop) break;
    result.push_back(token);
    if (!on_token(token)) break;
    unread = at::tensor({token}, at::kLong).to(network.device());
  }
  return result;
}

}  // namespace multicard
