#include "nn/vision/InvertedResidual.hpp"

#include "nn/vision/FusedInvertedResidual.hpp"

namespace multicard {

std::vector<at::Tensor> InvertedResidual::convolutions() const {
  std::vector<at::Tensor> weights{depthwise.weight, project.weight};
  if (expand) weights.insert(weights.begin(), expand->weight);
  return weights;
}

bool InvertedResidual::adds_input() const {
  const std::int64_t in = expand ? expand->convolution.in : depthwise.convolution.in;
  return depthwise.convolution.stride == 1 && in == project.convolution.out;
}

// The fused block reads and writes each activation once instead of once for each of eight operations; on GPUs, and for
// types that it does not take, the operations follow one another.
at::Tensor InvertedResidual::forward(const at::Tensor& x, const NormContext& context) const {
  if (can_fuse(x, *this, context)) return fused_inverted_residual(x, *this, context);
  const at::Tensor expanded = expand ? expand->forward(x, context, Activation::relu6) : x;
  const at::Tensor filtered = depthwise.forward(expanded, context, Activation::relu6);
  return adds_input() ? project.forward_add(filtered, context, x)
                      : project.forward(filtered, context, Activation::none);
}

}  // namespace multicard
