#include "nn/TokenLoss.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/nonzero_static.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/Matmul.hpp"
#include "kernels/TokenPath.hpp"
#include "kernels/cpu/TokenRows.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <typename Body>
void for_rows_of(const at::Tensor& logits, const Body& body) {
  at::parallel_for(0, logits.size(0), 1, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row)
      body(row);
  });
}

/// log(sum(exp)) of each row, [rows, 1].
at::Tensor log_sum_exp(const at::Tensor& logits) {
  if (!logits.is_cpu()) return logits.logsumexp({1}, /*keepdim=*/true);
  at::Tensor result = at::empty({logits.size(0), 1}, logits.options());
  with_storage(logits.scalar_type(), [&]<typename S>() {
    if constexpr (std::is_same_v<S, Compute<S>>)
      for_rows_of(logits, [&](std::int64_t row) {
        mutable_values_of<S>(result)[row] =
            token_kernels<S>().log_sum_exp(values_of<S>(logits) + row * logits.size(1), logits.size(1));
      });
  });
  return result;
}

/// logits = exp(logits - shift), shift [rows, 1].
void exponentials_(const at::Tensor& logits, const at::Tensor& shift) {
  if (!logits.is_cpu()) {
    logits.sub_(shift).exp_();
    return;
  }
  with_storage(logits.scalar_type(), [&]<typename S>() {
    if constexpr (std::is_same_v<S, Compute<S>>)
      for_rows_of(logits, [&](std::int64_t row) {
        token_kernels<S>().exponentials(mutable_values_of<S>(logits) + row * logits.size(1), logits.size(1),
                                        values_of<S>(shift)[row]);
      });
  });
}

/// Of the targets whose logits are held.
struct ChunkLoss {
  at::Tensor losses;    ///< [targets], of wide type
  at::Tensor gradient;  ///< of the sum of losses by the logits, in their type; with LogitGradient::none undefined
};

/// The loss of `logits`, which may be overwritten, with the targets `tokens`; computed in `wide`.
ChunkLoss chunk_loss(const at::Tensor& logits, const at::Tensor& tokens, at::ScalarType wide, LogitGradient gradient) {
  if (token_path(logits, Kernels::automatic) == TokenPath::cuda) {
    const at::Tensor losses = cuda_softmax_loss(logits, tokens, gradient);
    return {losses, gradient == LogitGradient::none ? at::Tensor() : logits};
  }
  const at::Tensor values = logits.to(wide), shift = log_sum_exp(values), columns = tokens.unsqueeze(1);
  ChunkLoss result{(shift - values.gather(1, columns)).squeeze(1), {}};
  if (gradient == LogitGradient::none) return result;
  exponentials_(values, shift);  // softmax, and then minus one at the target
  values.scatter_add_(1, columns, at::full({1, 1}, -1.0, values.options()).expand_as(columns));
  result.gradient = values.to(logits.scalar_type());
  return result;
}

/// target = a b, in place where the library of the device can write there.
void matmul_into(at::Tensor target, const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_cpu() && target.scalar_type() == a.scalar_type())
    at::mm_out(target, a, b);
  else
    target.copy_(fast_matmul(a, b));
}

/// target += a b.
void add_matmul(const at::Tensor& target, const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_cpu() && target.scalar_type() == a.scalar_type())
    target.addmm_(a, b);
  else
    target.add_(at::mm(a, b));
}

/// rows weight^T, [rows, vocabulary or more]: for the GPU's kernels the memory of a row is a multiple of 16 bytes, and
/// what lies behind the vocabulary is -inf, which adds nothing to a softmax.
at::Tensor logits_of(const at::Tensor& rows, const at::Tensor& weight) {
  constexpr std::int64_t kPack = 8;
  const std::int64_t size = weight.size(0), room = (size + kPack - 1) / kPack * kPack;
  if (room == size || token_path(rows, Kernels::automatic) != TokenPath::cuda) return fast_matmul(rows, weight.t());
  at::Tensor all = at::empty({rows.size(0), room}, rows.options());
  all.narrow(1, size, room - size).fill_(-std::numeric_limits<double>::infinity());
  at::Tensor logits = all.narrow(1, 0, size);
  at::mm_out(logits, rows, weight.t());
  return all;
}

/// Goes over the targets in chunks.
class ChunkedLoss {
 public:
  ChunkedLoss(const at::Tensor& hidden, const at::Tensor& weight, const TokenTargets& targets, std::int64_t chunk)
      : targets_(targets),
        chunk_(chunk),
        rows_(hidden.index_select(0, targets.positions).to(matmul_dtype(hidden.scalar_type(), hidden.device()))),
        weight_(weight.to(rows_.scalar_type())),
        wide_(wide_dtype(hidden)) {}

  /// Calls body(first, count, losses and gradient).
  template <typename Body>
  void for_each(LogitGradient gradient, const Body& body) const {
    const std::int64_t total = rows_.size(0);
    for (std::int64_t first = 0; first < total; first += chunk_) {
      const std::int64_t count = std::min(chunk_, total - first);
      const at::Tensor logits = logits_of(rows(first, count), weight_);
      ChunkLoss chunk = chunk_loss(logits, targets_.tokens.narrow(0, first, count), wide_, gradient);
      if (chunk.gradient.defined()) chunk.gradient = chunk.gradient.narrow(1, 0, weight_.size(0));
      body(first, count, chunk);
    }
  }
  at::Tensor rows(std::int64_t first, std::int64_t count) const { return rows_.narrow(0, first, count); }
  const at::Tensor& all_rows() const { return rows_; }
  const at::Tensor& weight() const { return weight_; }
  at::ScalarType wide() const { return wide_; }

 private:
  const TokenTargets& targets_;
  std::int64_t chunk_;
  at::Tensor rows_, weight_;
  at::ScalarType wide_;
};

class TokenLoss : public torch::autograd::Function<TokenLoss> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                            const TokenTargets& targets, std::int64_t chunk_rows, bool needs_hidden,
                            bool needs_weight) {
    const ChunkedLoss chunks(hidden, weight, targets, chunk_rows);
    at::Tensor total = at::zeros({}, hidden.options().dtype(at::kDouble)), dhidden, dweight;
    if (needs_hidden) dhidden = at::empty(chunks.all_rows().sizes(), hidden.options());
    if (needs_weight) dweight = at::zeros(weight.sizes(), weight.options().dtype(chunks.wide()));
    const auto wanted = needs_hidden || needs_weight ? LogitGradient::in_place : LogitGradient::none;
    chunks.for_each(wanted, [&](std::int64_t first, std::int64_t count, const ChunkLoss& chunk) {
      total.add_(chunk.losses.sum(at::kDouble));
      if (needs_hidden) matmul_into(dhidden.narrow(0, first, count), chunk.gradient, chunks.weight());
      if (needs_weight) add_matmul(dweight, chunk.gradient.t(), chunks.rows(first, count));
    });
    context->save_for_backward({targets.positions});
    context->saved_data["dhidden"] = dhidden;
    context->saved_data["dweight"] = dweight;
    context->saved_data["num_tokens"] = hidden.size(0);
    context->saved_data["weight_dtype"] = static_cast<std::int64_t>(weight.scalar_type());
    return total.to(chunks.wide());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor positions = context->get_saved_variables()[0];
    const at::Tensor dtargets = taken(*context, "dhidden"), dwide = taken(*context, "dweight");
    at::Tensor dhidden, dweight;
    if (dtargets.defined()) {
      dhidden = at::zeros({context->saved_data["num_tokens"].toInt(), dtargets.size(1)}, dtargets.options());
      dhidden.index_copy_(0, positions, dtargets.mul_(gradients[0]));
    }
    if (dwide.defined())
      dweight = dwide.mul_(gradients[0]).to(static_cast<at::ScalarType>(context->saved_data["weight_dtype"].toInt()));
    return {dhidden, dweight, {}, {}, {}, {}};
  }

 private:
  /// A tensor that forward saved, which from now on lives as long as its user wants; the context would hold it until
  /// the whole graph goes.
  static at::Tensor taken(AutogradContext& context, const char* name) {
    at::Tensor tensor = context.saved_data[name].toTensor();
    context.saved_data.erase(name);
    return tensor;
  }
};

}  // namespace

TokenTargets token_targets(const at::Tensor& targets, std::int64_t count) {
  const at::Tensor is_target = targets >= 0;
  const at::Tensor positions =
      targets.is_cpu() ? is_target.nonzero().squeeze(1) : at::nonzero_static(is_target, count).squeeze(1);
  return {positions, targets.index_select(0, positions)};
}

std::int64_t automatic_chunk(const at::Tensor& weight) {
  const std::int64_t bytes = std::int64_t{1} << (weight.is_cpu() ? 26 : 29);
  return std::max<std::int64_t>(64, bytes / (4 * weight.size(0)) / 64 * 64);
}

at::Tensor token_loss(const at::Tensor& hidden, const at::Tensor& weight, const TokenTargets& targets,
                      std::optional<std::int64_t> chunk) {
  const bool records = at::GradMode::is_enabled();
  return TokenLoss::apply(hidden, weight, targets, chunk.value_or(automatic_chunk(weight)),
                          records && hidden.requires_grad(), records && weight.requires_grad());
}

at::Tensor token_losses(const at::Tensor& hidden, const at::Tensor& weight, const TokenTargets& targets) {
  const at::NoGradGuard no_grad;
  const ChunkedLoss chunks(hidden, weight, targets, automatic_chunk(weight));
  at::Tensor losses = at::empty({targets.tokens.size(0)}, hidden.options().dtype(chunks.wide()));
  chunks.for_each(LogitGradient::none, [&](std::int64_t first, std::int64_t count, const ChunkLoss& chunk) {
    losses.narrow(0, first, count).copy_(chunk.losses);
  });
  return losses;
}

}  // namespace multicard
