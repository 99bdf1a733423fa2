#pragma once
/// \file The block of MobileNetV2.

#include <optional>
#include <vector>

#include "nn/vision/Convolution.hpp"

namespace multicard {

/// 1x1 expansion and ReLU6 (absent at expansion 1), 3x3 depthwise convolution and ReLU6, linear 1x1 projection; the
/// input is added where shapes allow.
struct InvertedResidual {
  std::optional<ConvNorm> expand;
  ConvNorm depthwise;
  ConvNorm project;

  /// Weights of the convolutions, in the order of forward().
  std::vector<at::Tensor> convolutions() const;
  bool adds_input() const;
  at::Tensor forward(const at::Tensor& x, const NormContext& context) const;
};

}  // namespace multicard
