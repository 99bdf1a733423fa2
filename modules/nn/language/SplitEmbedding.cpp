#include "nn/language/SplitEmbedding.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/SavedPointer.hpp"

namespace multicard {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kBlock = 0;

// Tokens have no gradient whose computation could call hooks at the end of backward, as BlockPass has it: the function
// calls them by itself, and so must have added the gradient before.
class SplitEmbedding : public torch::autograd::Function<SplitEmbedding> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& leaf, const at::Tensor& values,
                            const at::Tensor& tokens, BlockHooks* hooks) {
    context->save_for_backward({leaf, tokens});
    context->saved_data["hooks"] = saved_value(hooks);
    hooks->before_forward(kBlock);
    at::Tensor rows = at::embedding(values, tokens);
    hooks->after_forward(kBlock);
    return rows;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& leaf = saved[0];
    auto* const hooks = saved_pointer<BlockHooks>(context->saved_data["hooks"]);
    hooks->before_backward(kBlock);
    at::Tensor computed = at::embedding_dense_backward(gradients[0].to(leaf.scalar_type()), saved[1], leaf.size(0),
                                                       /*padding_idx=*/-1, /*scale_grad_by_freq=*/false);
    if (leaf.grad().defined()) {
      leaf.mutable_grad().add_(computed);
      computed.reset();
    }
    hooks->after_backward(kBlock);
    return {computed, {}, {}, {}};
  }
};

}  // namespace

at::Tensor split_embedding(const at::Tensor& leaf, const at::Tensor& values, const at::Tensor& tokens,
                           BlockHooks& hooks) {
  return SplitEmbedding::apply(leaf, values, tokens, &hooks);
}

}  // namespace multicard
