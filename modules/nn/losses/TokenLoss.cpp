#include "nn/losses/TokenLoss.hpp"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nonzero_static.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/Matmul.hpp"
#include "kernels/OperatorScope.hpp"
#include "nn/losses/ChunkedLoss.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The loss is one number, so that its gradient multiplies everything: the gradients are computed in forward, while the
// logits of a chunk exist, and are multiplied in backward. Logits of all targets (32,000 x 128,256 in float32 are 16
// GB) never exist.
class TokenLoss : public torch::autograd::Function<TokenLoss> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& leaf,
                            const OutputWeight& weight, const TokenTargets& targets, std::int64_t chunk_rows,
                            bool needs_hidden, bool needs_weight) {
    const OperatorScope scope("multicard::token_loss");
    const ChunkedLoss chunks(hidden, weight.values, targets, chunk_rows);
    at::Tensor total = at::zeros({}, hidden.options().dtype(at::kDouble)), dhidden, dweight;
    if (needs_hidden) dhidden = at::empty(chunks.all_rows().sizes(), hidden.options());
    if (needs_weight) dweight = wide_gradient(weight, chunks.wide());
    const auto wanted = needs_hidden || needs_weight ? LogitGradient::in_place : LogitGradient::none;
    chunks.for_each(wanted, [&](std::int64_t first, std::int64_t count, const ChunkLoss& chunk) {
      total.add_(chunk.losses.sum(at::kDouble));
      if (needs_hidden) matmul_into(dhidden.narrow(0, first, count), chunk.gradient, chunks.weight());
      if (needs_weight) add_matmul(dweight, chunk.gradient.t(), chunks.rows(first, count));
    });
    context->save_for_backward({targets.positions});
    context->saved_data["dhidden"] = dhidden;
    context->saved_data["dweight"] = dweight;
    context->saved_data["gradient"] = weight.gradient;
    context->saved_data["num_tokens"] = hidden.size(0);
    context->saved_data["weight_dtype"] = static_cast<std::int64_t>(leaf.scalar_type());
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
    const auto type = static_cast<at::ScalarType>(context->saved_data["weight_dtype"].toInt());
    if (dwide.defined()) dweight = left_to_autograd(dwide.mul_(gradients[0]).to(type), taken(*context, "gradient"));
    return {dhidden, dweight, {}, {}, {}, {}, {}};
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
  // nonzero() on a GPU makes the host wait for the number of results; the caller knows it.
  const at::Tensor is_target = targets >= 0;
  const at::Tensor positions =
      targets.is_cpu() ? is_target.nonzero().squeeze(1) : at::nonzero_static(is_target, count).squeeze(1);
  return {positions, targets.index_select(0, positions)};
}

// 64 MiB of float32 logits on CPUs, 512 MiB on GPUs; a multiple of 64 rows, which fills the tiles of a matmul.
std::int64_t automatic_chunk(const at::Tensor& weight) {
  const std::int64_t bytes = std::int64_t{1} << (weight.is_cpu() ? 26 : 29);
  return std::max<std::int64_t>(64, bytes / (4 * weight.size(0)) / 64 * 64);
}

at::Tensor token_loss(const at::Tensor& hidden, const OutputWeight& weight, const TokenTargets& targets,
                      std::optional<std::int64_t> chunk) {
  const bool records = at::GradMode::is_enabled();
  return TokenLoss::apply(hidden, weight.leaf, weight, targets, chunk.value_or(automatic_chunk(weight.leaf)),
                          records && hidden.requires_grad(), records && weight.leaf.requires_grad());
}

}  // namespace multicard
