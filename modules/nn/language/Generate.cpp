#include "nn/language/Generate.hpp"

#include <algorithm>
#include <cmath>
#include <list>

#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/index_fill.h>
#include <ATen/ops/max.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "nn/layers/Random.hpp"

namespace multicard {

namespace {

/// How many of the first of `count` falling probabilities are drawn from, and what they sum to.
struct Kept {
  std::int64_t count = 0;
  double total = 0;
};

// top_k first, then top_p among what it has left, renormalised: the order in which transformers applies them. The token
// with which the sum reaches top_p is the last that is kept, so that at least one always is.
Kept kept_of(const double* falling, std::int64_t count, const SamplingOptions& options) {
  std::int64_t most = count;
  if (options.top_k > 0 && options.top_k < count) {
    most = options.top_k;
    while (most < count && falling[most] == falling[options.top_k - 1])
      ++most;
  }
  double all = 0;
  if (most == count)
    all = 1;
  else
    for (std::int64_t i = 0; i < most; ++i)
      all += falling[i];
  Kept kept;
  while (kept.count < most && (kept.count == 0 || kept.total < options.top_p * all))
    kept.total += falling[kept.count++];
  return kept;
}

}  // namespace

TokenSampler::TokenSampler(const SamplingOptions& options) : options_(options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    throw UsageError("the temperature is " + significant(options.temperature), "it is a number, 0 or above");
  if (options.top_k < 0)
    throw UsageError(fmt::format("top-k is {}", options.top_k), "it is a number of tokens, or 0 for all");
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw UsageError("top-p is " + significant(options.top_p), "it is a probability above 0");
  if (!(options.repetition_penalty > 0) || !std::isfinite(options.repetition_penalty))
    throw UsageError("the repetition penalty is " + significant(options.repetition_penalty),
                     "it is a factor above 0, and 1 for none");
}

void TokenSampler::read(const std::vector<std::int64_t>& tokens) {
  if (options_.repetition_penalty != 1) unmarked_.insert(unmarked_.end(), tokens.begin(), tokens.end());
}

// The marks stay on the device of the logits, and each token is marked once: the penalty is for having been read at
// all, not for how often.
at::Tensor TokenSampler::penalised(const at::Tensor& logits) {
  if (options_.repetition_penalty == 1) return logits;
  if (!is_read_.defined()) is_read_ = at::zeros(logits.sizes(), logits.options().dtype(at::kBool));
  is_read_.index_fill_(0, at::tensor(unmarked_, at::kLong).to(logits.device()), true);
  unmarked_.clear();
  const double penalty = options_.repetition_penalty;
  return at::where(is_read_, at::where(logits < 0, logits * penalty, logits / penalty), logits);
}

std::int64_t TokenSampler::next(const at::Tensor& plain_logits) {
  const at::Tensor logits = penalised(plain_logits);
  if (options_.temperature == 0) return logits.argmax().item<std::int64_t>();
  const at::Tensor wide = logits.to(at::kCPU, at::kDouble);
  // Divided after the largest is taken off, so that a small temperature does not overflow.
  const at::Tensor probabilities = ((wide - wide.max()) / options_.temperature).softmax(0);
  // Stable: of equal probabilities the lower token comes first, and a seed draws the same text on any device.
  const auto [sorted, tokens] = probabilities.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
  const auto* chance = sorted.const_data_ptr<double>();
  const Kept kept = kept_of(chance, sorted.numel(), options_);
  double left = uniform_value(options_.seed, num_drawn_++) * kept.total;
  std::int64_t chosen = 0;
  while (chosen + 1 < kept.count && left > chance[chosen])
    left -= chance[chosen++];
  return tokens.const_data_ptr<std::int64_t>()[chosen];
}

namespace {

/// The texts of one call, some of them at a time.
class TextBatch {
 public:
  TextBatch(Llama& network, const std::vector<std::vector<std::int64_t>>& prompts, const GenerateOptions& options,
            const std::function<bool(std::size_t, std::int64_t)>& on_token)
      : network_(network),
        prompts_(prompts),
        options_(options),
        on_token_(on_token),
        ends_(network.config().eos),
        results_(prompts.size()) {
    ends_.insert(ends_.end(), options.more_ends.begin(), options.more_ends.end());
  }

  // Continuous batching: a text that ends makes place for the next prompt, all of whose tokens are read in the same
  // pass as the single tokens of the others.
  std::vector<Generated> run() {
    while (next_ < prompts_.size() || !texts_.empty()) {
      while (next_ < prompts_.size() && std::ssize(texts_) < options_.batch)
        begin_next();
      step();
    }
    return std::move(results_);
  }

 private:
  struct Text {
    std::size_t number;  ///< of the prompt
    TokenSampler sampler;
    std::vector<std::int64_t> unread;
    KvCache cache = {};
  };

  void begin_next() {
    SamplingOptions sampling = options_.sampling;
    // By the number of the prompt, not by its place in the batch: what is drawn does not depend on the batch's size.
    sampling.seed += next_;
    texts_.push_back({next_, TokenSampler(sampling), prompts_[next_]});
    ++next_;
  }

  // Every token is read exactly once, when it is unread: the last drawn one has no entry in the cache before the next
  // pass.
  at::Tensor read_all() {
    std::vector<std::int64_t> tokens;
    std::vector<Continued> sequences;
    for (Text& text : texts_) {
      tokens.insert(tokens.end(), text.unread.begin(), text.unread.end());
      sequences.push_back({&text.cache, std::ssize(text.unread)});
      text.sampler.read(text.unread);
    }
    return network_.next_logits(at::tensor(tokens, at::kLong).to(network_.device()), sequences);
  }

  void step() {
    const at::Tensor logits = read_all();
    const at::Tensor largest = logits.amax({1}).to(at::kCPU, at::kDouble);
    std::int64_t row = 0;
    for (auto text = texts_.begin(); text != texts_.end(); ++row) {
      if (!std::isfinite(largest.const_data_ptr<double>()[row]))  // NaN wins against every number
        throw NumericalError("the model's logits are not finite",
                             fmt::format("at token {} of the answer", results_[text->number].tokens.size()),
                             "Its weights have diverged or are damaged; fp16 can also overflow: try --dtype fp32.");
      text = add(*text, text->sampler.next(logits[row])) ? std::next(text) : texts_.erase(text);
    }
  }

  /// Whether the text continues after `token`.
  bool add(Text& text, std::int64_t token) {
    Generated& result = results_[text.number];
    const bool is_end = std::find(ends_.begin(), ends_.end(), token) != ends_.end();
    if (is_end && options_.end_tokens == EndTokens::stop) {
      result.finish = Finish::end_token;
      return false;
    }
    // With EndTokens::ignore the end token is a token like any other, for measuring answers of a fixed length.
    result.tokens.push_back(token);
    text.unread = {token};
    if (!on_token_(text.number, token)) {
      result.finish = Finish::stopped;
      return false;
    }
    return std::ssize(result.tokens) < options_.max_new;
  }

  Llama& network_;
  const std::vector<std::vector<std::int64_t>>& prompts_;
  const GenerateOptions& options_;
  const std::function<bool(std::size_t, std::int64_t)>& on_token_;
  std::vector<std::int64_t> ends_;
  std::vector<Generated> results_;
  std::list<Text> texts_;  ///< at work, in the order of their prompts
  std::size_t next_ = 0;   ///< prompt
};

}  // namespace

std::vector<Generated> generate(Llama& network, const std::vector<std::vector<std::int64_t>>& prompts,
                                const GenerateOptions& options,
                                const std::function<bool(std::size_t, std::int64_t)>& on_token) {
  if (std::any_of(prompts.begin(), prompts.end(), [](const auto& prompt) { return prompt.empty(); }))
    throw UsageError("the prompt is empty", "there is nothing to continue");
  if (options.batch < 1) throw UsageError(fmt::format("the batch is {} prompts", options.batch), "it is 1 or more");
  return TextBatch(network, prompts, options, on_token).run();
}

}  // namespace multicard
