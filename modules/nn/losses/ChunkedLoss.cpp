#include "nn/losses/ChunkedLoss.hpp"

#include <limits>
#include <type_traits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include "kernels/Matmul.hpp"
#include "kernels/cpu/TokenRows.hpp"

namespace multicard {
namespace {

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

/// The loss of `logits`, which may be overwritten, with the targets `tokens`; computed in `wide`.
/// loss = log(sum exp) - logit of the target; its gradient by the logits is softmax minus one at the target.
ChunkLoss chunk_loss(const at::Tensor& logits, const at::Tensor& tokens, at::ScalarType wide, LogitGradient gradient) {
  if (token_path(logits, Kernels::automatic) == TokenPath::cuda) {
    const at::Tensor losses = cuda_softmax_loss(logits, tokens, gradient);
    return {losses, gradient == LogitGradient::none ? at::Tensor() : logits};
  }
  const at::Tensor values = logits.to(wide), shift = log_sum_exp(values), columns = tokens.unsqueeze(1);
  ChunkLoss result{(shift - values.gather(1, columns)).squeeze(1), {}};
  if (gradient == LogitGradient::none) return result;
  // In place: `values` is the logits themselves where they have the wide type, and a copy of its own otherwise.
  exponentials_(values, shift);  // softmax, and then minus one at the target
  values.scatter_add_(1, columns, at::full({1, 1}, -1.0, values.options()).expand_as(columns));
  result.gradient = values.to(logits.scalar_type());
  return result;
}

/// rows weight^T, [rows, vocabulary or more]: for the GPU's kernels the memory of a row is a multiple of 16 bytes, and
/// what follows the vocabulary is -inf, which adds nothing to a softmax.
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

}  // namespace

at::Tensor wide_gradient(const OutputWeight& weight, at::ScalarType wide) {
  const bool is_there = weight.gradient.defined() && weight.gradient.scalar_type() == wide;
  return is_there ? weight.gradient : at::zeros(weight.leaf.sizes(), weight.leaf.options().dtype(wide));
}

at::Tensor left_to_autograd(const at::Tensor& computed, const at::Tensor& gradient) {
  if (!gradient.defined()) return computed;
  if (!computed.is_same(gradient)) gradient.add_(computed);
  return {};
}

ChunkedLoss::ChunkedLoss(const at::Tensor& hidden, const at::Tensor& weight, const TokenTargets& targets,
                         std::int64_t chunk)
    : targets_(targets),
      chunk_(chunk),
      // Only positions with a target get logits: in a prompt none, which is most of many batches.
      rows_(hidden.index_select(0, targets.positions).to(matmul_dtype(hidden.scalar_type(), hidden.device()))),
      weight_(weight.to(rows_.scalar_type())),
      wide_(wide_dtype(hidden)) {}

ChunkLoss ChunkedLoss::loss_of(std::int64_t first, std::int64_t count, LogitGradient gradient) const {
  const at::Tensor logits = logits_of(rows(first, count), weight_);
  ChunkLoss chunk = chunk_loss(logits, targets_.tokens.narrow(0, first, count), wide_, gradient);
  if (chunk.gradient.defined()) chunk.gradient = chunk.gradient.narrow(1, 0, weight_.size(0));
  return chunk;
}

}  // namespace multicard
