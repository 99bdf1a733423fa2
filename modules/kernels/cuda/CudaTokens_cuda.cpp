#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "kernels/cuda/CudaTokens.hpp"
#include "kernels/cuda/TokenLaunch.hpp"
#include "kernels/cuda/WithType.hpp"

namespace multicard {
namespace {

/// The weight as kernels for x take it: in the type of x or in float32.
at::Tensor kernel_weight(const at::Tensor& weight, const at::Tensor& x) {
  return (weight.scalar_type() == x.scalar_type() ? weight : weight.to(at::kFloat)).contiguous();
}

/// Calls body.operator()<P>() with the type of kernel_weight().
template <typename S, typename Body>
cudaError_t with_weight(const at::Tensor& weight, const Body& body) {
  if (weight.scalar_type() == at::kFloat) return body.template operator()<float>();
  return body.template operator()<S>();
}

template <typename S>
const S* read(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<S>() : nullptr;
}

template <typename S>
S* write(const at::Tensor& tensor) {
  return tensor.mutable_data_ptr<S>();
}

}  // namespace

bool has_cuda_token_kernels(const at::Tensor& x) {
  return x.is_cuda() && is_type_of_kernels(x.scalar_type());
}

CudaNormed cuda_add_norm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon) {
  // Without `delta` the stream is x as a view: what an autograd function returns must not be its input itself.
  const at::Tensor factors = kernel_weight(weight, x);
  CudaNormed result{delta.defined() ? at::empty_like(x) : x.view_as(x), at::empty_like(x),
                    at::empty({x.size(0), 1}, x.options().dtype(at::kFloat))};
  with_type(x, [&]<typename S>(cudaStream_t stream) {
    return with_weight<S>(factors, [&]<typename P>() {
      const rows::NormRow<S, P> first{read<S>(x),
                                      read<S>(delta),
                                      read<P>(factors),
                                      x.size(1),
                                      static_cast<float>(epsilon),
                                      delta.defined() ? write<S>(result.stream) : nullptr,
                                      write<S>(result.normed),
                                      write<float>(result.scale)};
      return rows::launch_add_norm(first, x.size(0), stream);
    });
  });
  return result;
}

at::Tensor cuda_norm_gradient(const at::Tensor& dnormed, const at::Tensor& dstream, const at::Tensor& stream,
                              const at::Tensor& weight, const at::Tensor& scale) {
  const at::Tensor factors = kernel_weight(weight, stream);
  at::Tensor dx = at::empty_like(stream);
  with_type(stream, [&]<typename S>(cudaStream_t queue) {
    return with_weight<S>(factors, [&]<typename P>() {
      const rows::NormGradientRow<S, P> first{
          read<S>(dnormed), read<S>(dstream), read<S>(stream), read<P>(factors), 0.0F, stream.size(1), write<S>(dx)};
      return rows::launch_norm_gradient(first, read<float>(scale), stream.size(0), queue);
    });
  });
  return dx;
}

at::Tensor cuda_norm_weight_gradient(const at::Tensor& dnormed, const at::Tensor& stream, const at::Tensor& scale) {
  const std::int64_t parts = (stream.size(0) + rows::kRowsOfPart - 1) / rows::kRowsOfPart;
  const at::Tensor partial = at::empty({parts, stream.size(1)}, scale.options());
  with_type(stream, [&]<typename S>(cudaStream_t queue) {
    return rows::launch_norm_weight_gradient(read<S>(dnormed), read<S>(stream), read<float>(scale), stream.size(0),
                                             stream.size(1), write<float>(partial), queue);
  });
  // The second stage of a sum without atomics, in an order that depends on the shape alone.
  return partial.sum({0});
}

at::Tensor cuda_swiglu(const at::Tensor& gate_and_up) {
  const std::int64_t size = gate_and_up.size(1) / 2;
  at::Tensor y = at::empty({gate_and_up.size(0), size}, gate_and_up.options());
  with_type(gate_and_up, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_swiglu(read<S>(gate_and_up), y.size(0), size, write<S>(y), stream);
  });
  return y;
}

at::Tensor cuda_swiglu_gradient(const at::Tensor& dy, const at::Tensor& gate_and_up) {
  at::Tensor result = at::empty_like(gate_and_up);
  with_type(gate_and_up, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_swiglu_gradient(read<S>(dy), read<S>(gate_and_up), dy.size(0), dy.size(1), write<S>(result),
                                        stream);
  });
  return result;
}

void cuda_rope(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, double direction) {
  with_type(x, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_rope(write<S>(x), x.size(0), x.stride(0), x.size(1), x.size(2), read<float>(cos),
                             read<float>(sin), static_cast<float>(direction), stream);
  });
}

at::Tensor cuda_softmax_loss(const at::Tensor& logits, const at::Tensor& tokens, LogitGradient gradient) {
  at::Tensor losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
  const auto softmax = gradient == LogitGradient::in_place ? rows::Softmax::gradient : rows::Softmax::loss;
  with_type(logits, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_softmax_loss(write<S>(logits), read<std::int64_t>(tokens), logits.size(0), logits.size(1),
                                     softmax, write<float>(losses), stream);
  });
  return losses;
}

at::Tensor cuda_dropout(const at::Tensor& x, std::uint64_t key, std::uint64_t threshold, double factor) {
  const rows::Dropout dropout{key, threshold, static_cast<float>(factor)};
  at::Tensor y = at::empty_like(x);
  with_type(x, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_dropout(dropout, read<S>(x), x.numel(), write<S>(y), stream);
  });
  return y;
}

}  // namespace multicard
