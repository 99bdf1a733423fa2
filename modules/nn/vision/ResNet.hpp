#pragma once
/// \file Residual networks (He et al. 2015, arXiv 1512.03385) as torchvision 0.26 defines them.

#include <optional>
#include <vector>

#include "nn/vision/NetworkFactory.hpp"

namespace multicard {

/// Convolutions with ReLU; the input joins before the last ReLU, through a 1x1 convolution where shapes differ.
struct ResidualBlock {
  std::vector<ConvNorm> layers;
  std::optional<ConvNorm> shortcut;
  std::size_t first = 0;  ///< place of the first layer among the network's
};

/// 7x7 stem, max pooling, four stages of residual blocks, global mean, classifier. Deeper than 34 layers blocks are
/// bottlenecks with the stride in their 3x3 convolution ("v1.5"). With 1000 classes 11,689,512 (18 layers) and
/// 25,557,032 parameters (50 layers).
class ResNet final : public Network {
 public:
  enum class Depth { layers18, layers50 };

  ResNet(Depth depth, const NetworkOptions& options);
  at::Tensor forward(const at::Tensor& images_NCHW) override;
  /// See total_stride() of NetworkFactory.hpp.
  static std::int64_t total_stride();

 private:
  ResidualBlock add_block(const std::string& name, const std::vector<Convolution>& shapes);

  /// Each layer is a block of Network: a residual block may have a quarter of all weights.
  at::Tensor forward(const ResidualBlock& block, const at::Tensor& x) const;

  ConvNorm stem_;
  std::vector<ResidualBlock> blocks_;
};

}  // namespace multicard
