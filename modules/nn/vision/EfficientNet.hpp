#pragma once
/// \file EfficientNet-B0 (Tan and Le 2019, arXiv 1905.11946) as torchvision 0.26 defines it.

#include <optional>
#include <vector>

#include "nn/vision/NetworkFactory.hpp"

namespace multicard {

/// Scales channels by a function of their means (Hu et al. 2017, arXiv 1709.01507).
struct SqueezeExcitation {
  Linear squeeze, excite;

  /// x * sigmoid(excite(silu(squeeze(mean of x over H and W)))), of x [N, C, H, W].
  at::Tensor forward(const at::Tensor& x) const;
};

/// 1x1 expansion and SiLU (absent at expansion 1), depthwise convolution and SiLU, squeeze and excitation, linear 1x1
/// projection; the input is added where shapes allow.
struct MobileBlock {
  std::optional<ConvNorm> expand;
  ConvNorm depthwise;
  SqueezeExcitation scale;
  ConvNorm project;
  double drop = 0;  ///< probability that a row keeps its input only, in training

  /// Weights of the convolutions, in the order of forward(); those of `scale` are 1x1 convolutions.
  std::vector<at::Tensor> convolutions() const;
  bool adds_input() const;
  /// `seed` chooses the rows.
  at::Tensor forward(const at::Tensor& x, const NormContext& context, std::uint64_t seed) const;
};

/// Stem, 16 blocks, a 1x1 convolution, global mean, dropout (0.2 by default), classifier: 5,288,548 parameters with
/// 1000 classes. Block i of 16 drops rows with probability stochastic_depth (0.2 by default) * i / 16.
class EfficientNet final : public Network {
 public:
  explicit EfficientNet(const NetworkOptions& options);
  at::Tensor forward(const at::Tensor& images_NCHW) override;
  /// See total_stride() of NetworkFactory.hpp.
  static std::int64_t total_stride();

 private:
  MobileBlock add_block(const std::string& name, std::int64_t expansion, const Convolution& shape);
  SqueezeExcitation add_squeeze_excitation(const std::string& name, std::int64_t num_channels, std::int64_t squeezed);

  ConvNorm stem_, head_;
  std::size_t head_block_ = 0;
  std::vector<MobileBlock> blocks_;
};

}  // namespace multicard
