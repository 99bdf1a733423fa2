#include "kernels/AttentionKernel.hpp"

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include "kernels/Matmul.hpp"
#include "kernels/cuda/ComputeCapability.hpp"

namespace multicard {
namespace {

at::Tensor rows(const at::Tensor& x, const TokenSpan& span) {
  return x.narrow(0, span.first, span.length);
}

/// One sequence's tensors, grouped.
struct Grouped {
  at::Tensor q, k, v;

  Grouped(const AttentionInputs& inputs, const TokenSpan& span, at::ScalarType dtype) {
    const std::int64_t heads = inputs.q.size(1), kv_heads = inputs.k.size(1);
    const auto grouped = [&](const at::Tensor& x) {
      return grouped_by_kv_head(rows(x, span).to(dtype), kv_heads, heads);
    };
    q = grouped(inputs.q);
    k = grouped(inputs.k);
    v = grouped(inputs.v);
  }
};

std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

/// Into rows of a gradient [tokens, kv heads, head_dim]: the sum over the heads that share keys.
void copy_shared(const at::Tensor& gradient, const TokenSpan& span, const at::Tensor& grouped) {
  // Keys and values were expanded without a copy; the gradient of an expansion is a sum.
  rows(gradient, span).transpose(0, 1).copy_(grouped.size(1) == 1 ? grouped.squeeze(1) : grouped.sum({1}));
}

void zero_padding(const at::Tensor& x, const SequencePlan& plan) {
  // No kernel writes between sequences. Whatever lay there would go into the products of the next layer, and a NaN from
  // there into the gradients of its weights.
  std::int64_t end = 0;
  const auto clear_to = [&](std::int64_t next) {
    if (next > end) x.narrow(0, end, next - end).zero_();
  };
  for (const TokenSpan& span : plan.sequences) {
    clear_to(span.first);
    end = span.first + span.length;
  }
  clear_to(plan.num_tokens);
}

class SequenceAttentionCpu : public AttentionKernel {
 public:
  AttentionSaved forward(const AttentionInputs& inputs, const SequencePlan& plan, std::int64_t window) const override {
    // Flash attention (Dao et al. 2022, arXiv 2205.14135) takes the keys in blocks and keeps, for each query, the
    // largest score m so far and l = sum(exp(score - m)). A block that raises m scales what was summed before by
    // exp(m_old - m). Of all scores backward needs L = m + log(l) alone: it makes each block again, as exp(score - L).
    const std::int64_t heads = inputs.q.size(1), kv_heads = inputs.k.size(1);
    AttentionSaved saved;
    saved.out = at::empty(inputs.q.sizes(), inputs.q.options());
    const at::ScalarType dtype = matmul_dtype(inputs.q.scalar_type(), at::kCPU);
    const at::ScalarType wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
    saved.logsumexp = at::empty({kv_heads, heads / kv_heads, plan.num_tokens}, inputs.q.options().dtype(wide));
    for (const TokenSpan& span : plan.sequences) {
      const Grouped one(inputs, span, dtype);
      const at::Tensor mask = attention_mask(0, span.length, window, one.q.options());
      const auto [out, logsumexp] =
          at::_scaled_dot_product_flash_attention_for_cpu(one.q, one.k, one.v, 0.0, !mask.defined(), optional(mask));
      grouped_by_kv_head(rows(saved.out, span), kv_heads, heads).copy_(out);
      saved.logsumexp.narrow(2, span.first, span.length).copy_(logsumexp);
    }
    zero_padding(saved.out, plan);
    return saved;
  }

  void backward(const at::Tensor& dout, const AttentionInputs& inputs, const AttentionSaved& saved,
                const SequencePlan& plan, std::int64_t window, const AttentionInputs& gradients) const override {
    const std::int64_t heads = inputs.q.size(1), kv_heads = inputs.k.size(1);
    const at::ScalarType dtype = matmul_dtype(inputs.q.scalar_type(), at::kCPU);
    for (const TokenSpan& span : plan.sequences) {
      const Grouped one(inputs, span, dtype);
      const at::Tensor mask = attention_mask(0, span.length, window, one.q.options());
      const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          grouped_by_kv_head(rows(dout, span).to(dtype), kv_heads, heads), one.q, one.k, one.v,
          grouped_by_kv_head(rows(saved.out, span).to(dtype), kv_heads, heads),
          saved.logsumexp.narrow(2, span.first, span.length), 0.0, !mask.defined(), optional(mask));
      grouped_by_kv_head(rows(gradients.q, span), kv_heads, heads).copy_(dq);
      copy_shared(gradients.k, span, dk);
      copy_shared(gradients.v, span, dv);
    }
    for (const at::Tensor& gradient : {gradients.q, gradients.k, gradients.v})
      zero_padding(gradient, plan);
  }
};

// The window of flash attention counts the tokens before the one that looks.
std::optional<std::int64_t> left_of(std::int64_t window) {
  return window > 0 ? std::optional<std::int64_t>(window - 1) : std::nullopt;
}

std::optional<std::int64_t> right_of(std::int64_t window) {
  return window > 0 ? std::optional<std::int64_t>(0) : std::nullopt;
}

bool can_use_flash_attention(const at::Tensor& q) {
  return q.is_cuda() && takes_flash_attention(q.scalar_type(), q.size(2), compute_major_of(q.device()));
}

class PackedAttentionCuda : public AttentionKernel {
 public:
  AttentionSaved forward(const AttentionInputs& inputs, const SequencePlan& plan, std::int64_t window) const override {
    // All sequences in one call. Paddings are among the boundaries, as sequences of their own, so that every row of
    // `out` is written; the plan's `sequences`, by which losses and other kernels go, leave them out.
    auto [out, logsumexp, rng_state, unused, mask] = at::_flash_attention_forward(
        inputs.q, inputs.k, inputs.v, plan.boundaries, plan.boundaries, plan.longest, plan.longest, 0.0,
        /*is_causal=*/true, /*return_debug_mask=*/false, std::nullopt, left_of(window), right_of(window));
    return {out, logsumexp, rng_state, unused};
  }

  void backward(const at::Tensor& dout, const AttentionInputs& inputs, const AttentionSaved& saved,
                const SequencePlan& plan, std::int64_t window, const AttentionInputs& gradients) const override {
    const auto [dq, dk, dv] = at::_flash_attention_backward(
        dout, inputs.q, inputs.k, inputs.v, saved.out, saved.logsumexp, plan.boundaries, plan.boundaries, plan.longest,
        plan.longest, 0.0, /*is_causal=*/true, saved.rng_state, saved.rng_unused, std::nullopt, left_of(window),
        right_of(window));
    // The targets may be views into one matrix of queries, keys and values; the kernel gives tensors of its own.
    gradients.q.copy_(dq);
    gradients.k.copy_(dk);
    gradients.v.copy_(dv);
  }
};

class SequenceAttentionAny : public AttentionKernel {
 public:
  AttentionSaved forward(const AttentionInputs& inputs, const SequencePlan& plan, std::int64_t window) const override {
    AttentionSaved saved;
    saved.out = at::zeros(inputs.q.sizes(), inputs.q.options());
    for (const TokenSpan& span : plan.sequences)
      rows(saved.out, span).copy_(of_one({rows(inputs.q, span), rows(inputs.k, span), rows(inputs.v, span)}, window));
    return saved;
  }

  void backward(const at::Tensor& dout, const AttentionInputs& inputs, const AttentionSaved&, const SequencePlan& plan,
                std::int64_t window, const AttentionInputs& gradients) const override {
    for (const at::Tensor& gradient : {gradients.q, gradients.k, gradients.v})
      zero_padding(gradient, plan);
    // Inside the backward of an autograd function nothing is recorded unless it is asked for.
    const at::AutoGradMode records(true);
    for (const TokenSpan& span : plan.sequences) {
      const auto leaf = [&](const at::Tensor& x) { return rows(x, span).detach().requires_grad_(true); };
      const AttentionInputs one{leaf(inputs.q), leaf(inputs.k), leaf(inputs.v)};
      const auto results =
          torch::autograd::grad({of_one(one, window)}, {one.q, one.k, one.v}, {rows(dout, span).detach()});
      const at::NoGradGuard no_grad;
      rows(gradients.q, span).copy_(results[0]);
      rows(gradients.k, span).copy_(results[1]);
      rows(gradients.v, span).copy_(results[2]);
    }
  }

 private:
  static at::Tensor of_one(const AttentionInputs& one, std::int64_t window) {
    const std::int64_t heads = one.q.size(1), kv_heads = one.k.size(1);
    const at::Tensor mask = attention_mask(0, one.q.size(0), window, one.q.options());
    const at::Tensor out = at::scaled_dot_product_attention(
        grouped_by_kv_head(one.q, kv_heads, heads), grouped_by_kv_head(one.k, kv_heads, heads),
        grouped_by_kv_head(one.v, kv_heads, heads), optional(mask), 0.0, !mask.defined());
    return out.permute({2, 0, 1, 3}).reshape(one.q.sizes());
  }
};

}  // namespace

const AttentionKernel& sequence_attention_cpu() {
  static const SequenceAttentionCpu kernel;
  return kernel;
}

const AttentionKernel& packed_attention_cuda() {
  static const PackedAttentionCuda kernel;
  return kernel;
}

const AttentionKernel& sequence_attention_any() {
  static const SequenceAttentionAny kernel;
  return kernel;
}

const AttentionKernel& attention_kernel(const AttentionInputs& inputs) {
  if (inputs.q.is_cpu()) return sequence_attention_cpu();
  return can_use_flash_attention(inputs.q) ? packed_attention_cuda() : sequence_attention_any();
}

bool takes_flash_attention(at::ScalarType dtype, std::int64_t head_dim, int compute_major) {
  constexpr int kAmpere = 8;
  const bool is_half = dtype == at::kHalf || dtype == at::kBFloat16;
  // The limits of FlashAttention 2 as LibTorch compiles it.
  return is_half && head_dim % 8 == 0 && head_dim <= 256 && compute_major >= kAmpere;
}

at::Tensor continued_attention(const AttentionInputs& inputs, std::int64_t window) {
  const std::int64_t count = inputs.q.size(0), total = inputs.k.size(0), kv_heads = inputs.k.size(1);
  if (can_use_flash_attention(inputs.q)) {
    // It takes heads that share keys, and its causality is that of the last tokens. LibTorch's own choice may be
    // cuDNN's attention, which builds a plan for every length: tens of milliseconds for each token.
    const auto one = [](const at::Tensor& x) { return x.unsqueeze(0); };
    return std::get<0>(at::_flash_attention_forward(one(inputs.q), one(inputs.k), one(inputs.v), std::nullopt,
                                                    std::nullopt, count, total, 0.0, /*is_causal=*/true,
                                                    /*return_debug_mask=*/false, std::nullopt, left_of(window),
                                                    right_of(window)))
        .squeeze(0);
  }
  // LibTorch's is_causal aligns the first query with the first key, which is right only where all tokens are new. A
  // single token sees all keys and needs neither mask nor causality.
  const at::Tensor mask = attention_mask(total - count, count, window, inputs.q.options());
  const auto grouped = [&](const at::Tensor& x) { return grouped_by_kv_head(x, kv_heads, inputs.q.size(1)); };
  const at::Tensor out = at::scaled_dot_product_attention(grouped(inputs.q), grouped(inputs.k), grouped(inputs.v),
                                                          optional(mask), 0.0, !mask.defined() && count > 1);
  return out.permute({2, 0, 1, 3}).reshape(inputs.q.sizes());
}

at::Tensor grouped_by_kv_head(const at::Tensor& x, std::int64_t kv_heads, std::int64_t heads) {
  const std::int64_t tokens = x.size(0), head_dim = x.size(2), sharing = heads / kv_heads;
  // Queries have all heads; keys and values have those that are shared, and are expanded with stride 0.
  if (x.size(1) == heads) return x.unflatten(1, {kv_heads, sharing}).permute({1, 2, 0, 3});
  return x.transpose(0, 1).unsqueeze(1).expand({kv_heads, sharing, tokens, head_dim});
}

at::Tensor attention_mask(std::int64_t past, std::int64_t length, std::int64_t window,
                          const at::TensorOptions& options) {
  const bool has_window = window > 0 && window < past + length;
  if (!has_window && (past == 0 || length == 1)) return {};
  const at::TensorOptions whole = options.dtype(at::kLong);
  const at::Tensor query = at::arange(past, past + length, whole).unsqueeze(1), key = at::arange(past + length, whole);
  at::Tensor hidden = key > query;
  // A token is in its own window: of window 1 it sees itself alone.
  if (has_window) hidden = hidden | (key <= query - window);
  return at::zeros({length, past + length}, options).masked_fill_(hidden, -std::numeric_limits<double>::infinity());
}

}  // namespace multicard
