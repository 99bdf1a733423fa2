#include "nn/language/BlockHooks.hpp"

#include <ATen/core/grad_mode.h>
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
    variable_list out{x.view_as(x)};
    if (delta) out.push_back(delta->view_as(*delta));
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

Residual with_border(const Residual& stream, Side side, std::int64_t block, BlockHooks* hooks) {
  if (!at::GradMode::is_enabled()) return stream;
  const auto delta = stream.delta.defined() ? std::optional<at::Tensor>(stream.delta) : std::nullopt;
  const variable_list out = BlockBorder::apply(stream.x, delta, side, block, hooks);
  return {out[0], out.size() > 1 ? out[1] : at::Tensor()};
}

}  // namespace

Residual BlockPass::enter(std::int64_t block, const Residual& in) const {
  if (!hooks_) return in;
  hooks_->before_forward(block);
  return with_border(in, Side::begin, block, hooks_);
}

Residual BlockPass::leave(std::int64_t block, const Residual& out) const {
  if (!hooks_) return out;
  Residual passed = with_border(out, Side::end, block, hooks_);
  hooks_->after_forward(block);
  return passed;
}

}  // namespace multicard
