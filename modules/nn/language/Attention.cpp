#include "nn/language/Attention.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/Error.hpp"
#include "kernels/AttentionKernel.hpp"
#include "kernels/OperatorScope.hpp"
#include "nn/language/Rope.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

AttentionInputs parts_of(const at::Tensor& qkv, const HeadShape& shape) {
  const auto part = [&](std::int64_t first, std::int64_t heads) {
    return qkv.narrow(1, first, heads * shape.head_dim).unflatten(1, {heads, shape.head_dim});
  };
  return {part(0, shape.heads), part(shape.query_size(), shape.kv_heads),
          part(shape.query_size() + shape.kv_size(), shape.kv_heads)};
}

/// Queries and keys, which lie side by side, in place.
/// Queries and keys of all heads have the same angles, so that one call rotates both; values are not rotated. In place:
/// qkv is a fresh result, and what made it needs no values of it in backward.
void apply_rope(const at::Tensor& qkv, const HeadShape& shape, const RopeTable& rope, Rotation rotation) {
  const std::int64_t heads = shape.heads + shape.kv_heads;
  rotate(qkv.narrow(1, 0, heads * shape.head_dim).unflatten(1, {heads, shape.head_dim}), rope, rotation);
}

// The function takes qkv before the rotation and keeps it rotated, which is what backward of the kernels reads. A
// rotation is orthogonal: its gradient is the rotation back, applied to the gradients of queries and keys at the end.
class Attention : public torch::autograd::Function<Attention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv, const HeadShape& shape,
                            const c10::intrusive_ptr<SequencePlan>& plan, std::int64_t window) {
    const OperatorScope scope("multicard::attention");
    apply_rope(qkv, shape, plan->rope, Rotation::forward);
    const AttentionInputs inputs = parts_of(qkv, shape);
    const AttentionSaved saved = attention_kernel(inputs).forward(inputs, *plan, window);
    context->save_for_backward({qkv, saved.logsumexp, saved.rng_state, saved.rng_unused});
    context->saved_data["plan"] = c10::IValue::make_capsule(plan);
    context->saved_data["shape"] = std::vector<std::int64_t>{shape.heads, shape.kv_heads, shape.head_dim};
    context->saved_data["window"] = window;
    context->saved_data["out"] = saved.out.detach();
    return saved.out.flatten(1);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto plan = c10::static_intrusive_pointer_cast<SequencePlan>(context->saved_data["plan"].toCapsule());
    const std::vector<std::int64_t> sizes = context->saved_data["shape"].toIntVector();
    const HeadShape shape{sizes[0], sizes[1], sizes[2]};
    const AttentionInputs inputs = parts_of(saved[0], shape);
    const AttentionSaved state{context->saved_data["out"].toTensor(), saved[1], saved[2], saved[3]};
    // The kernels write the three parts into one tensor, which is the gradient of the group's output: nothing is put
    // together afterwards.
    const at::Tensor dqkv = at::empty(saved[0].sizes(), saved[0].options());
    const at::Tensor dout = gradients[0].contiguous().view(state.out.sizes());
    attention_kernel(inputs).backward(dout, inputs, state, *plan, context->saved_data["window"].toInt(),
                                      parts_of(dqkv, shape));
    context->saved_data.erase("out");  // else held until the whole graph goes
    apply_rope(dqkv, shape, plan->rope, Rotation::inverse);
    return {dqkv, {}, {}, {}};
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& qkv, const HeadShape& shape, const c10::intrusive_ptr<SequencePlan>& plan,
                     std::int64_t window) {
  return Attention::apply(qkv, shape, plan, window);
}

// Keys are cached rotated: a token's angle depends on its own position alone, so that none is ever rotated again. Each
// sequence attends by itself, since their pasts have different lengths.
at::Tensor cached_attention(const at::Tensor& qkv, const HeadShape& shape, const SequencePlan& plan,
                            std::int64_t window, std::int64_t layer, std::span<KvCache* const> caches) {
  apply_rope(qkv, shape, plan.rope, Rotation::forward);
  const auto of_one = [&](std::size_t number) {
    const TokenSpan& span = plan.sequences[number];
    const AttentionInputs inputs = parts_of(qkv.narrow(0, span.first, span.length), shape);
    const KvCache::View all = caches[number]->append(layer, inputs.k, inputs.v);
    return continued_attention({inputs.q, all.keys, all.values}, window).flatten(1);
  };
  if (caches.size() == 1) return of_one(0);
  std::vector<at::Tensor> parts;
  for (std::size_t number = 0; number < caches.size(); ++number)
    parts.push_back(of_one(number));
  return at::cat(parts);
}

}  // namespace multicard
