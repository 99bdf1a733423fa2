#include "nn/losses/SequenceLoss.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/Matmul.hpp"
#include "kernels/OperatorScope.hpp"
#include "nn/losses/ChunkedLoss.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class SequenceLoss : public torch::autograd::Function<SequenceLoss> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& leaf,
                            const OutputWeight& weight, const SequenceTargets& sequences, std::int64_t chunk_rows,
                            bool needs_hidden, bool needs_weight) {
    const OperatorScope scope("multicard::sequence_loss");
    const ChunkedLoss chunks(hidden, weight.values, sequences.targets, chunk_rows);
    at::Tensor sums = at::zeros({sequences.num_sequences}, hidden.options().dtype(at::kDouble)), dhidden;
    // Backward gives one number for each sequence, which multiplies the gradients of all of its targets. Those of
    // hidden can be computed now and multiplied then; that of weight is a sum over targets with different numbers, and
    // cannot.
    const bool is_linear = needs_hidden && !needs_weight;  // each target's gradient is a multiple of what is known now
    if (is_linear) dhidden = at::empty(chunks.all_rows().sizes(), hidden.options());
    const auto wanted = is_linear ? LogitGradient::in_place : LogitGradient::none;
    chunks.for_each(wanted, [&](std::int64_t first, std::int64_t count, const ChunkLoss& chunk) {
      sums.index_add_(0, sequences.sequence_of.narrow(0, first, count), chunk.losses.to(at::kDouble));
      if (is_linear) matmul_into(dhidden.narrow(0, first, count), chunk.gradient, chunks.weight());
    });
    const at::Tensor none;
    context->save_for_backward({sequences.targets.positions, sequences.sequence_of, needs_weight ? hidden : none,
                                needs_weight ? leaf : none, needs_weight ? sequences.targets.tokens : none});
    context->saved_data["values"] = needs_weight ? weight.values : none;
    context->saved_data["gradient"] = needs_weight ? weight.gradient : none;
    context->saved_data["dhidden"] = dhidden;
    context->saved_data["num_tokens"] = hidden.size(0);
    context->saved_data["chunk"] = chunk_rows;
    context->saved_data["needs_hidden"] = needs_hidden;
    return sums;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    // Of each target, the gradient of its sequence's sum.
    const at::Tensor &positions = saved[0], scale = gradients[0].index_select(0, saved[1]).unsqueeze(1);
    at::Tensor dtargets = context->saved_data["dhidden"].toTensor(), dweight;
    context->saved_data.erase("dhidden");  // the context would hold it until the whole graph goes
    if (saved[3].defined())
      std::tie(dtargets, dweight) = trained_weight_backward(*context, saved, scale);
    else if (dtargets.defined())
      dtargets.mul_(scale);
    at::Tensor dhidden;
    if (dtargets.defined()) {
      dhidden = at::zeros({context->saved_data["num_tokens"].toInt(), dtargets.size(1)}, dtargets.options());
      dhidden.index_copy_(0, positions, dtargets);
    }
    return {dhidden, dweight, {}, {}, {}, {}, {}};
  }

 private:
  /// Gradients of the targets' rows of hidden and of weight, from logits that are computed again.
  static std::pair<at::Tensor, at::Tensor> trained_weight_backward(AutogradContext& context, const variable_list& saved,
                                                                   const at::Tensor& scale) {
    const at::Tensor& hidden = saved[2];
    OutputWeight weight(saved[3]);
    weight.values = context.saved_data["values"].toTensor();
    weight.gradient = context.saved_data["gradient"].toTensor();
    const bool needs_hidden = context.saved_data["needs_hidden"].toBool();
    const TokenTargets targets{saved[0], saved[4]};
    const ChunkedLoss chunks(hidden, weight.values, targets, context.saved_data["chunk"].toInt());
    at::Tensor dtargets;
    const at::Tensor dweight = wide_gradient(weight, chunks.wide());
    if (needs_hidden) dtargets = at::empty(chunks.all_rows().sizes(), hidden.options());
    chunks.for_each(LogitGradient::in_place, [&](std::int64_t first, std::int64_t count, const ChunkLoss& chunk) {
      const at::Tensor dlogits = chunk.gradient.mul_(scale.narrow(0, first, count));
      if (needs_hidden) matmul_into(dtargets.narrow(0, first, count), dlogits, chunks.weight());
      add_matmul(dweight, dlogits.t(), chunks.rows(first, count));
    });
    return {dtargets, left_to_autograd(dweight.to(weight.leaf.scalar_type()), weight.gradient)};
  }
};

}  // namespace

at::Tensor SequenceTargets::counts() const {
  const at::Tensor counts = at::zeros({num_sequences}, sequence_of.options().dtype(at::kDouble));
  return counts.index_add_(0, sequence_of, at::ones_like(sequence_of, at::kDouble));
}

at::Tensor sequence_losses(const at::Tensor& hidden, const OutputWeight& weight, const SequenceTargets& sequences,
                           std::int64_t chunk) {
  const bool records = at::GradMode::is_enabled();
  return SequenceLoss::apply(hidden, weight.leaf, weight, sequences, chunk, records && hidden.requires_grad(),
                             records && weight.leaf.requires_grad());
}

}  // namespace multicard
