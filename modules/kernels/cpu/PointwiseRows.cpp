#include "kernels/cpu/PointwiseRows.hpp"

#include <type_traits>

#include <ATen/ops/empty_like.h>

#include "kernels/cpu/Gemm.hpp"
#include "kernels/cpu/NormRows.hpp"
#include "kernels/cpu/Partition.hpp"
#include "kernels/cpu/Scratch.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kSmallestPart = 256, kMostRows = 256;

template <typename S>
std::int64_t row_bytes(const Pointwise<S>& layer) {
  return 2 * (layer.in() + layer.out()) * static_cast<std::int64_t>(sizeof(Compute<S>));
}

// Blocks of a layer's matrices in the type that products compute in: the matrices themselves, or a buffer where they
// are stored in another type.
template <typename S>
class WideBlocks {
  using C = Compute<S>;
  // For float32 and float64 nothing is copied: products are computed where they are stored.
  static constexpr bool kInPlace = std::is_same_v<S, C>;

 public:
  WideBlocks(const Pointwise<S>& layer, std::int64_t product_width)
      : layer_(layer), input_(kMostRows * layer.in()), product_(kInPlace ? 0 : kMostRows * product_width) {}

  /// The activated input of `count` rows from `row`.
  const C* activated(std::int64_t row, std::int64_t count) {
    const S* x = layer_.x + row * layer_.in();
    if (layer_.before) {
      row_kernels<S>().normalise_wide(x, count, layer_.in(), layer_.before->view(), input_.data());
      return input_.data();
    }
    if constexpr (kInPlace) return x;
    row_kernels<S>().widen(x, count * layer_.in(), input_.data());
    return input_.data();
  }
  /// Where the product that belongs in `out` is to be computed; finish() brings it there.
  C* product(S* out) {
    if constexpr (kInPlace)
      return out;
    else
      return product_.data();
  }
  void finish(std::int64_t size, S* out) const {
    if constexpr (!kInPlace) row_kernels<S>().narrow(product_.data(), size, out);
  }

 private:
  const Pointwise<S>& layer_;
  Scratch<C> input_, product_;
};

// The backward pass of one part of the rows.
template <typename S>
class BackwardPart {
  using C = Compute<S>;

 public:
  BackwardPart(const Pointwise<S>& layer, const NormGradient<C>& gradient, Gradients wanted, C* dweight,
               GradientSums& sums)
      : layer_(layer),
        gradient_(gradient),
        wanted_(wanted),
        dweight_(dweight),
        sums_(sums),
        blocks_(layer, layer.in()),
        doutput_(kMostRows * layer.out()) {}

  void run(const S* dy, const S* y, const S* residual, S* dx, std::int64_t row, std::int64_t count) {
    const std::int64_t in = layer_.in(), out = layer_.out();
    // The gradient after the layer is made block by block and used twice while it is in the cache: for the weight (d^T
    // x) and for the input (d W). As a whole it never exists.
    row_kernels<S>().input_gradient_wide(dy + row * out, y + row * out, count, out, gradient_.view(), doutput_.data());
    if (wanted_ != Gradients::of_input)
      add_transposed_matmul(doutput_.data(), blocks_.activated(row, count), count, out, in, dweight_);
    if (wanted_ == Gradients::of_weight) return;
    S* dinput = dx + row * in;
    C* product = blocks_.product(dinput);
    if (residual) row_kernels<S>().widen(residual + row * in, count * in, product);
    multiply(doutput_.data(), layer_.weight.template const_data_ptr<C>(), count, out, in,
             residual ? Accumulate::yes : Accumulate::no, product);
    if (layer_.before)
      row_kernels<S>().gradient_sums_wide(product, layer_.x + row * in, count, in, layer_.before->view(),
                                          sums_.g.data(), sums_.g_deviation.data(), dinput);
    else
      blocks_.finish(count * in, dinput);
  }

 private:
  const Pointwise<S>& layer_;
  const NormGradient<C>& gradient_;
  Gradients wanted_;
  C* dweight_;
  GradientSums& sums_;
  WideBlocks<S> blocks_;
  Scratch<C> doutput_;
};

}  // namespace

template <typename S>
void pointwise_forward(const Pointwise<S>& layer, S* y, ChannelMoments* moments) {
  using C = Compute<S>;
  const std::int64_t in = layer.in(), out = layer.out();
  // Transposed once for all blocks, since products want [in, out].
  Scratch<C> weight(layer.weight.numel());
  transpose(layer.weight.template const_data_ptr<C>(), out, in, weight.data());
  const Partition partition(layer.rows, kSmallestPart);
  std::vector<ChannelMoments> parts(partition.num_parts(), ChannelMoments(moments ? out : 0));
  partition.for_each([&](std::int64_t part, std::int64_t first, std::int64_t end) {
    WideBlocks<S> blocks(layer, out);
    for_blocks(first, end, row_bytes(layer), [&](std::int64_t row, std::int64_t count) {
      S* output = y + row * out;
      multiply(blocks.activated(row, count), weight.data(), count, in, out, Accumulate::no, blocks.product(output));
      blocks.finish(count * out, output);
      join_block(output, count, out, moments ? &parts[part] : nullptr);
    });
  });
  if (moments)
    for (const ChannelMoments& part : parts)
      moments->join(part);
}

template <typename S>
PointwiseGradients pointwise_backward(const Pointwise<S>& layer, const S* dy, const S* y,
                                      const NormGradient<Compute<S>>& gradient, const S* residual, Gradients wanted,
                                      S* dx) {
  using C = Compute<S>;
  const Partition partition(layer.rows, kSmallestPart);
  const std::int64_t size = wanted == Gradients::of_input ? 0 : layer.weight.numel(),
                     num_parts = std::max<std::int64_t>(1, partition.num_parts());
  const std::int64_t num_sums = layer.before && wanted != Gradients::of_weight ? layer.in() : 0;
  // A gradient of the weight for each part, added in their order: as large as the weight, but no thread waits.
  auto dweights = Scratch<C>::zeros(num_parts * size);
  std::vector<GradientSums> sums(num_parts, GradientSums(num_sums));
  partition.for_each([&](std::int64_t part, std::int64_t first, std::int64_t end) {
    BackwardPart<S> worker(layer, gradient, wanted, dweights.data() + part * size, sums[part]);
    for_blocks(first, end, row_bytes(layer),
               [&](std::int64_t row, std::int64_t count) { worker.run(dy, y, residual, dx, row, count); });
  });
  PointwiseGradients result{{}, GradientSums(num_sums)};
  for (const GradientSums& part : sums)
    result.before.add(part);
  if (wanted == Gradients::of_input) return result;
  result.weight = at::empty_like(layer.weight);
  sum_parts(dweights.data(), num_parts, size, result.weight.template mutable_data_ptr<C>());
  return result;
}

// NOLINTBEGIN(bugprone-macro-parentheses): S is a type
#define MULTICARD_INSTANTIATE(S)                                                          \
  template void pointwise_forward(const Pointwise<S>&, S*, ChannelMoments*);              \
  template PointwiseGradients pointwise_backward(const Pointwise<S>&, const S*, const S*, \
                                                 const NormGradient<Compute<S>>&, const S*, Gradients, S*)
// NOLINTEND(bugprone-macro-parentheses)
MULTICARD_INSTANTIATE(float);
MULTICARD_INSTANTIATE(double);
MULTICARD_INSTANTIATE(Bfloat16);
MULTICARD_INSTANTIATE(Float16);
#undef MULTICARD_INSTANTIATE

}  // namespace multicard
