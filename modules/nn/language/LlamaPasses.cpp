// Passes through the network: of batches, and of sequences that are continued.

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>

#include "base/Error.hpp"
#include "kernels/Matmul.hpp"
#include "nn/language/LlamaImpl.hpp"
#include "nn/language/RmsNorm.hpp"
#include "nn/language/SplitEmbedding.hpp"
#include "nn/losses/SequenceLoss.hpp"
#include "nn/losses/TokenLoss.hpp"
#include "profiler/BlockScope.hpp"

namespace multicard {

namespace {

void check_input(const TextInput& input) {
  if (input.tokens.dim() != 2 || input.tokens.sizes() != input.targets.sizes())
    throw DataError("tokens and targets of a batch differ in shape");
  if (input.tokens.size(0) != static_cast<std::int64_t>(input.shapes.size()))
    throw DataError("a batch of " + std::to_string(input.tokens.size(0)) + " rows comes with the shapes of " +
                    std::to_string(input.shapes.size()));
}

}  // namespace

OutputWeight Llama::Impl::head() const {
  OutputWeight head = ends.head.used(uses_adapters());
  if (ends.head_copy.defined()) head.values = ends.head_copy;
  if (splits_ends && at::GradMode::is_enabled()) head.gradient = head.leaf.grad();
  return head;
}

at::Tensor Llama::Impl::embedded(const at::Tensor& tokens) const {
  const BlockScope scope("embedding");
  const at::Tensor &weight = ends.embedding.used(uses_adapters()), ids = tokens.reshape({-1});
  if (!splits_ends) return at::embedding(weight, ids).to(compute);
  const at::Tensor& values = ends.embedding_copy.defined() ? ends.embedding_copy : weight;
  return split_embedding(weight, values, ids, *hooks).to(compute);
}

// The residual stream is passed on as x and delta: their sum is fused into the norm that follows.
at::Tensor Llama::Impl::hidden(at::Tensor embedded_tokens, c10::intrusive_ptr<SequencePlan> plan, std::int64_t end,
                               std::vector<KvCache*> caches) {
  table.reach(end, compute);
  plan->rope = table.at_positions(plan->positions);
  LlamaPass pass;
  pass.plan = std::move(plan);
  pass.caches = std::move(caches);
  pass.linear = {compute, uses_adapters(), mode == Mode::train ? dropout : 0.0, dropout_seed};
  const bool recomputes = checkpointing == Checkpointing::per_layer && at::GradMode::is_enabled();
  Residual stream{std::move(embedded_tokens), {}};
  const BlockPass through(hooks.get());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::int64_t number = first_layer() + static_cast<std::int64_t>(i);
    through.enter(number, stream.x, &stream.delta);
    stream = recomputes ? blocks[i].checkpointed_forward(stream, pass) : blocks[i].forward(stream, pass);
    through.leave(number, stream.x, &stream.delta);
  }
  return add_rms_norm(stream.x, stream.delta, ends.norm.used(uses_adapters()), config.norm_epsilon).normed;
}

at::Tensor Llama::Impl::logits_of(const at::Tensor& hidden_rows) const {
  const at::ScalarType dtype = matmul_dtype(hidden_rows.scalar_type(), options.device());
  return with_head(hidden_rows.to(dtype), [&](const at::Tensor& rows, const OutputWeight& weight) {
    return fast_matmul(rows, weight.values.to(dtype).t());
  });
}

at::Tensor Llama::Impl::hidden(const TextInput& input) {
  check_input(input);
  auto plan = SequencePlan::of_rows(input.shapes, input.tokens.size(1), options.device());
  const std::int64_t longest = plan->longest;
  at::Tensor x = embedded(input.tokens);
  if (input.noise.is_on())
    x = x + embedding_noise(input.noise, input.shapes, input.tokens.size(1), config.hidden_size, x.options());
  return hidden(std::move(x), std::move(plan), longest);
}

void Llama::prepare_positions(std::int64_t end) {
  impl_->table.reach(end, impl_->compute);
}

at::Tensor Llama::loss_sum(const TextInput& input) {
  const at::Tensor hidden = impl_->hidden(input), targets = input.targets.reshape({-1});
  const BlockScope scope("head");
  return impl_->with_head(hidden, [&](const at::Tensor& rows, const OutputWeight& weight) {
    return token_loss(rows, weight, token_targets(targets, num_targets(input.shapes)), impl_->loss_chunk);
  });
}

SequenceLosses Llama::sequence_losses(const TextInput& input) {
  check_input(input);
  const auto plan = SequencePlan::of_rows(input.shapes, input.tokens.size(1), device());
  SequenceTargets sequences{token_targets(input.targets.reshape({-1}), num_targets(input.shapes)), {}, 0};
  sequences.sequence_of = plan->sequence_of.index_select(0, sequences.targets.positions);
  sequences.num_sequences = static_cast<std::int64_t>(plan->sequences.size());
  const at::Tensor hidden = impl_->hidden(impl_->embedded(input.tokens), plan, plan->longest);
  const BlockScope scope("head");
  const at::Tensor sums = impl_->with_head(hidden, [&](const at::Tensor& rows, const OutputWeight& weight) {
    return multicard::sequence_losses(rows, weight, sequences, impl_->loss_chunk);
  });
  return {sums, sequences.counts()};
}

at::Tensor Llama::logits(const at::Tensor& tokens) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = tokens.size(0), width = tokens.size(1);
  const std::vector<RowShape> shapes(static_cast<std::size_t>(rows), RowShape{{width}, 0});
  const at::Tensor hidden =
      impl_->hidden(impl_->embedded(tokens), SequencePlan::of_rows(shapes, width, device()), width);
  return impl_->logits_of(hidden).to(hidden.scalar_type()).view({rows, width, impl_->config.vocabulary_size});
}

at::Tensor Llama::next_logits(const at::Tensor& tokens, std::span<const Continued> sequences) {
  const at::NoGradGuard no_grad;
  std::vector<TokenSpan> positions;
  std::vector<KvCache*> caches;
  std::int64_t end = 0;
  for (const Continued& sequence : sequences) {
    positions.push_back({sequence.cache->num_tokens(), sequence.count});
    caches.push_back(sequence.cache);
    end = std::max(end, sequence.cache->num_tokens() + sequence.count);
  }
  auto plan = SequencePlan::of_continuations(positions, device());
  const at::Tensor hidden = impl_->hidden(impl_->embedded(tokens), std::move(plan), end, std::move(caches));
  std::vector<at::Tensor> last;
  std::int64_t num_read = 0;
  for (const Continued& sequence : sequences) {
    sequence.cache->advance(sequence.count);
    last.push_back(hidden.narrow(0, (num_read += sequence.count) - 1, 1));
  }
  const at::Tensor logits = impl_->logits_of(at::cat(last));
  return logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
}

}  // namespace multicard
