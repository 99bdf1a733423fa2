#include "nn/cpu/PointwiseRows.hpp"

#include <ATen/ops/empty_like.h>

#include "nn/cpu/Gemm.hpp"
#include "nn/cpu/NormRows.hpp"
#include "nn/cpu/Partition.hpp"
#include "nn/cpu/Scratch.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kSmallestPart = 256;

template <typename T>
std::int64_t row_bytes(const Pointwise<T>& layer) {
  return 2 * (layer.in() + layer.out()) * static_cast<std::int64_t>(sizeof(T));
}

// The activated input of `count` rows from `row`, in `buffer` if it has to be computed.
template <typename T>
const T* activated(const Pointwise<T>& layer, std::int64_t row, std::int64_t count, T* buffer) {
  const T* x = layer.x + row * layer.in();
  if (!layer.before) return x;
  row_kernels<T>().normalise(x, count, layer.in(), layer.before->view(), nullptr, buffer);
  return buffer;
}

// The backward pass of one part of the rows.
template <typename T>
class BackwardPart {
 public:
  BackwardPart(const Pointwise<T>& layer, const NormGradient<T>& gradient, T* dweight, GradientSums& sums)
      : layer_(layer),
        gradient_(gradient),
        dweight_(dweight),
        sums_(sums),
        input_(kMostRows * layer.in()),
        doutput_(kMostRows * layer.out()) {}

  void run(const T* dy, const T* y, const T* residual, T* dx, std::int64_t row, std::int64_t count) {
    const std::int64_t in = layer_.in(), out = layer_.out();
    const AffineView<T> linear{nullptr, nullptr, nullptr, Activation::none};
    row_kernels<T>().input_gradient(dy + row * out, y + row * out, count, out, linear, gradient_.view(),
                                    doutput_.data());
    add_transposed_product(doutput_.data(), activated(layer_, row, count, input_.data()), count, out, in, dweight_);
    T* dinput = dx + row * in;
    if (residual) std::memcpy(dinput, residual + row * in, static_cast<std::size_t>(count * in) * sizeof(T));
    multiply(doutput_.data(), layer_.weight.template const_data_ptr<T>(), count, out, in,
             residual ? Accumulate::yes : Accumulate::no, dinput);
    if (layer_.before)
      row_kernels<T>().gradient_sums(dinput, layer_.x + row * in, count, in, layer_.before->view(), sums_.g.data(),
                                     sums_.g_deviation.data(), dinput);
  }

  static constexpr std::int64_t kMostRows = 256;

 private:
  const Pointwise<T>& layer_;
  const NormGradient<T>& gradient_;
  T* dweight_;
  GradientSums& sums_;
  Scratch<T> input_, doutput_;
};

}  // namespace

template <typename T>
void pointwise_forward(const Pointwise<T>& layer, T* y, ChannelMoments* moments) {
  const std::int64_t in = layer.in(), out = layer.out();
  Scratch<T> weight(layer.weight.numel());
  transpose(layer.weight.template const_data_ptr<T>(), out, in, weight.data());
  const Partition partition(layer.rows, kSmallestPart);
  std::vector<ChannelMoments> parts(partition.num_parts(), ChannelMoments(moments ? out : 0));
  partition.for_each([&](std::int64_t part, std::int64_t first, std::int64_t end) {
    Scratch<T> buffer(BackwardPart<T>::kMostRows * in);
    for_blocks(first, end, row_bytes(layer), [&](std::int64_t row, std::int64_t count) {
      multiply(activated(layer, row, count, buffer.data()), weight.data(), count, in, out, Accumulate::no,
               y + row * out);
      join_block(y + row * out, count, out, moments ? &parts[part] : nullptr);
    });
  });
  if (moments)
    for (const ChannelMoments& part : parts)
      moments->join(part);
}

template <typename T>
PointwiseGradients<T> pointwise_backward(const Pointwise<T>& layer, const T* dy, const T* y,
                                         const NormGradient<T>& gradient, const T* residual, T* dx) {
  const Partition partition(layer.rows, kSmallestPart);
  const std::int64_t size = layer.weight.numel(), num_parts = std::max<std::int64_t>(1, partition.num_parts());
  const std::int64_t num_sums = layer.before ? layer.in() : 0;
  auto dweights = Scratch<T>::zeros(num_parts * size);
  std::vector<GradientSums> sums(num_parts, GradientSums(num_sums));
  partition.for_each([&](std::int64_t part, std::int64_t first, std::int64_t end) {
    BackwardPart<T> worker(layer, gradient, dweights.data() + part * size, sums[part]);
    for_blocks(first, end, row_bytes(layer),
               [&](std::int64_t row, std::int64_t count) { worker.run(dy, y, residual, dx, row, count); });
  });
  PointwiseGradients<T> result{at::empty_like(layer.weight), GradientSums(num_sums)};
  sum_parts(dweights.data(), num_parts, size, result.weight.template mutable_data_ptr<T>());
  for (const GradientSums& part : sums)
    result.before.add(part);
  return result;
}

#define MULTICARD_INSTANTIATE(T)                                                                                     \
  template void pointwise_forward(const Pointwise<T>&, T*, ChannelMoments*);                                         \
  template PointwiseGradients<T> pointwise_backward(const Pointwise<T>&, const T*, const T*, const NormGradient<T>&, \
                                                    const T*, T*)
MULTICARD_INSTANTIATE(float);
MULTICARD_INSTANTIATE(double);
#undef MULTICARD_INSTANTIATE

}  // namespace multicard
