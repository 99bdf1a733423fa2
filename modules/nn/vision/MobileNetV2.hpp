#pragma once
/// \file MobileNetV2 (Sandler et al. 2018, arXiv 1801.04381) as torchvision 0.26 defines it.

#include <vector>

#include "nn/vision/InvertedResidual.hpp"
#include "nn/vision/NetworkFactory.hpp"

namespace multicard {

/// Stem, 17 inverted residual blocks, a 1x1 convolution, global mean, dropout, classifier: 3,504,872 parameters at
/// width 1.0 with 1000 classes. The last convolution has 1280 * max(1, width) channels. Dropout is 0.2 by default.
class MobileNetV2 final : public Network {
 public:
  explicit MobileNetV2(const NetworkOptions& options);
  at::Tensor forward(const at::Tensor& images_NCHW) override;
  /// See total_stride() of NetworkFactory.hpp.
  static std::int64_t total_stride();

 private:
  void add_blocks(const NetworkOptions& options, std::int64_t num_channels);
  InvertedResidual add_block(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t stride,
                             std::int64_t expansion);

  ConvNorm stem_, head_;
  std::size_t head_block_ = 0;
  std::vector<InvertedResidual> blocks_;
};

}  // namespace multicard
