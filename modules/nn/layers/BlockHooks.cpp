#include "nn/layers/BlockHooks.hpp"

#include <exception>
#include <optional>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/alias.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/SavedPointer.hpp"

namespace multicard {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

enum class Side { begin, end };

// Identity functions around a block. In backward that of its end runs first; that of its beginning has the lowest
// sequence number of the block, and so runs after all gradients of its leaves have been accumulated.
class BlockBorder : public torch::autograd::Function<BlockBorder> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const std::optional<at::Tensor>& delta,
                               Side side, std::int64_t block, BlockHooks* hooks) {
    context->saved_data["is_end"] = side == Side::end;
    context->saved_data["block"] = block;
    context->saved_data["hooks"] = saved_value(hooks);
    context->saved_data["has_delta"] = delta.has_value();
    variable_list out{at::alias(x)};  // of the same strides, even of a dimension of one element
    if (delta) out.push_back(at::alias(*delta));
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto* const hooks = saved_pointer<BlockHooks>(context->saved_data["hooks"]);
    const std::int64_t block = context->saved_data["block"].toInt();
    if (context->saved_data["is_end"].toBool())
      hooks->before_backward(block);
    else
      hooks->after_backward(block);
    const bool has_delta = context->saved_data["has_delta"].toBool();
    return {gradients[0], has_delta ? gradients[1] : at::Tensor(), {}, {}, {}};
  }
};

void pass_border(at::Tensor& x, at::Tensor* delta, Side side, std::int64_t block, BlockHooks* hooks) {
  if (!at::GradMode::is_enabled()) return;
  const bool has_delta = delta != nullptr && delta->defined();
  const variable_list out =
      BlockBorder::apply(x, has_delta ? std::optional<at::Tensor>(*delta) : std::nullopt, side, block, hooks);
  x = out[0];
  if (has_delta) *delta = out[1];
}

}  // namespace

void BlockPass::enter(std::int64_t block, at::Tensor& x, at::Tensor* delta) const {
  if (!hooks_) return;
  hooks_->before_forward(block);
  pass_border(x, delta, Side::begin, block, hooks_);
}

void BlockPass::leave(std::int64_t block, at::Tensor& x, at::Tensor* delta) const {
  if (!hooks_) return;
  pass_border(x, delta, Side::end, block, hooks_);
  hooks_->after_forward(block);
}

// Also where `body` fails: the other ranks still need this one, and hear of the failure when they are done.
void with_unequal_passes(BlockHooks* hooks, const std::function<void()>& body, BlockHooks* second) {
  if (!hooks) return body();
  hooks->begin_unequal_passes(second);
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  try {
    hooks->end_unequal_passes();
  } catch (...) {
    if (!error) throw;  // else of the same cause
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace multicard
