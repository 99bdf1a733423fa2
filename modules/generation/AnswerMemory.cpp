#include "generation/AnswerMemory.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>

#include <ATen/ops/zeros.h>

#include "device/AllocationRecorder.hpp"

namespace multicard {

namespace {

/// Sizes that a cache has room for from the start.
/// The longer one is at most as long as the model's positions, which a text must not exceed.
MeasuredSizes sizes_for(const Llama& network) {
  const std::int64_t small =
      std::min<std::int64_t>(network.device().is_cuda() ? 128 : 32, network.config().max_positions / 2);
  return {small, 2 * small};
}

at::Tensor tokens_on(const Llama& network, std::int64_t count) {
  return at::zeros({count}, at::TensorOptions().dtype(at::kLong).device(network.device()));
}

/// With room for `count` tokens, and none read.
KvCache empty_cache(Llama& network, std::int64_t count) {
  KvCache cache;
  const std::array<Continued, 1> sequence{Continued{&cache, count}};
  network.next_logits(tokens_on(network, count), sequence);
  cache.clear();
  return cache;
}

/// Two texts, as they are put together again after attention.
/// With one text alone the network skips the step that puts texts together, and its allocations would be missing here.
MeasuredPair measured_reading(Llama& network) {
  const SizedWork work = [&](std::int64_t count) {
    const std::int64_t half = count / 2;
    const at::Tensor tokens = tokens_on(network, count);
    auto caches = std::make_shared<std::array<KvCache, 2>>();
    for (KvCache& cache : *caches)
      cache = empty_cache(network, count - half);
    return [&network, tokens, caches, half, count] {
      // The caches have their room already: what a pass allocates must not contain the keys and values, which peak()
      // counts exactly.
      const std::array<Continued, 2> sequences{Continued{&caches->front(), half},
                                               Continued{&caches->back(), count - half}};
      network.next_logits(tokens, sequences);
    };
  };
  return measured_pair(network.device(), work, sizes_for(network));
}

MeasuredPair measured_continuing(Llama& network) {
  const SizedWork work = [&](std::int64_t count) {
    auto cache = std::make_shared<KvCache>(empty_cache(network, count));
    cache->advance(count - 1);
    const at::Tensor token = tokens_on(network, 1);
    return [&network, token, cache] {
      const std::array<Continued, 1> sequence{Continued{cache.get(), 1}};
      network.next_logits(token, sequence);
    };
  };
  return measured_pair(network.device(), work, sizes_for(network));
}

std::int64_t bytes_of_token(Llama& network) {
  // One token gets the smallest room there is; its bytes are spread evenly over the tokens of that room.
  return empty_cache(network, 1).bytes() / KvCache::room_for(1, 1);
}

/// As they are multiplied, and in float32 where that is wider.
std::int64_t logits_of_text(const LlamaConfig& config, std::int64_t bytes_per_token) {
  // A token holds 2 (key and value) x layers x kv_size elements, which gives the bytes of one.
  const std::int64_t element = bytes_per_token / (2 * config.num_layers * config.kv_size());
  return config.vocabulary_size * (element < 4 ? element + 4 : element);
}

}  // namespace

AnswerMemory::AnswerMemory(Llama& network)
    : num_layers_(network.config().num_layers),
      bytes_per_token_(bytes_of_token(network)),
      logits_bytes_(logits_of_text(network.config(), bytes_per_token_)),
      reading_(measured_reading(network)),
      continuing_(measured_continuing(network)) {}

/// A layer's keys or values are copied into the larger room while those of before are still there.
/// Room at least doubles when it is outgrown (KvCache), so that the old room is at most half of the new one. Layers and
/// texts grow one after another: only one such copy exists at a time, and the largest counts.
std::int64_t AnswerMemory::longest_caches(std::span<const std::int64_t> prompts, std::int64_t max_new) const {
  std::int64_t tokens = 0, outgrown = 0;
  for (const std::int64_t prompt : prompts) {
    const std::int64_t room = KvCache::room_for(prompt, prompt + max_new - 1);  // the last token is not read
    tokens += room;
    if (room > KvCache::room_for(prompt, prompt)) outgrown = std::max(outgrown, room / 2);
  }
  return tokens * bytes_per_token_ + outgrown * bytes_per_token_ / (2 * num_layers_);
}

// generate() holds most at one of two moments: when the prompts are read together, whose caches are short but whose
// activations grow with all of their tokens, or at the last token, whose caches are as long as they get.
std::int64_t AnswerMemory::peak(std::span<const std::int64_t> prompts, std::int64_t max_new) const {
  if (prompts.empty()) return 0;
  const auto num_texts = static_cast<std::int64_t>(prompts.size());
  const std::int64_t read = std::accumulate(prompts.begin(), prompts.end(), std::int64_t{0});
  const std::int64_t longest = *std::max_element(prompts.begin(), prompts.end()) + max_new - 1;
  std::int64_t first_caches = read * std::int64_t{sizeof(std::int64_t)};  // with the tokens themselves
  for (const std::int64_t prompt : prompts)
    first_caches += KvCache::room_for(prompt, prompt) * bytes_per_token_;
  // The logits of two texts, or of one, were measured.
  const std::int64_t first =
      first_caches + reading_.peak(read) + std::max<std::int64_t>(0, num_texts - 2) * logits_bytes_;
  const auto added = [&](std::int64_t reading) {  // of one text that continues
    return num_texts > 1 ? std::max<std::int64_t>(0, reading - 2 * logits_bytes_) : 0;
  };
  // A pass over all texts is what one continued text takes, with the activations of the others. Both were measured with
  // what does not grow (where a CPU does not multiply bfloat16, the output layer in float32), which a pass holds once.
  const std::int64_t constant =
      num_texts > 1 ? std::min(continuing_.peak(0), std::max<std::int64_t>(0, reading_.peak(0) - 2 * logits_bytes_))
                    : 0;
  // Two bounds: the sum of both peaks, or of what they hold besides a workspace, of which there is one at a time.
  const std::int64_t peaks = continuing_.peak(longest) + added(reading_.peak(num_texts)) - constant;
  const std::int64_t with_one_workspace = continuing_.peak_without_workspace(longest) +
                                          added(reading_.peak_without_workspace(num_texts)) +
                                          std::max(continuing_.workspace(), reading_.workspace());
  const std::int64_t last =
      longest_caches(prompts, max_new) + (num_texts - 1) * logits_bytes_ + std::min(peaks, with_one_workspace);
  return std::max(first, last);
}

}  // namespace multicard
