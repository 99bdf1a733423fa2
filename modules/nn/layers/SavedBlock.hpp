#pragma once
/// \file What the forward pass of a fused block leaves for backward.

#include <vector>

#include <ATen/ops/empty.h>

#include "kernels/cpu/NormStep.hpp"

namespace multicard {

/// Sizes of channels_last images: a matrix [rows(), channels].
struct ActivationShape {
  std::int64_t images, channels, height, width;

  explicit ActivationShape(const at::Tensor& x)
      : images(x.size(0)), channels(x.size(1)), height(x.size(2)), width(x.size(3)) {}
  std::int64_t rows() const { return images * height * width; }
};

inline at::Tensor empty_images(const at::Tensor& like, const ActivationShape& shape) {
  return at::empty({shape.images, shape.channels, shape.height, shape.width}, like.options(),
                   at::MemoryFormat::ChannelsLast);
}

inline ActivationShape with_channels(ActivationShape shape, std::int64_t channels) {
  shape.channels = channels;
  return shape;
}

inline ActivationShape strided(ActivationShape shape, std::int64_t stride) {
  shape.height = (shape.height - 1) / stride + 1;
  shape.width = (shape.width - 1) / stride + 1;
  return shape;
}

// What backward needs of one convolution and its normalisation.
struct SavedLayer {
  at::Tensor weight, norm_weight, norm_bias;
  at::Tensor output;      // before the normalisation
  at::Tensor statistics;  // NormStatistics

  template <typename T>
  NormCoefficients<T> coefficients(Activation activation) const {
    return {NormStatistics(statistics), norm_weight, norm_bias, activation};
  }
};

struct SavedBlock {
  at::Tensor input;
  SavedLayer expand, depthwise, project;

  bool expands() const { return expand.weight.defined(); }

  std::vector<at::Tensor> tensors() const {
    std::vector<at::Tensor> list{input};
    for (const SavedLayer* layer : {&expand, &depthwise, &project})
      for (const at::Tensor* tensor :
           {&layer->weight, &layer->norm_weight, &layer->norm_bias, &layer->output, &layer->statistics})
        list.push_back(*tensor);
    return list;
  }
  static SavedBlock of(const std::vector<at::Tensor>& list) {
    const auto layer = [&](std::size_t i) {
      return SavedLayer{list[i], list[i + 1], list[i + 2], list[i + 3], list[i + 4]};
    };
    return {list[0], layer(1), layer(6), layer(11)};
  }
};

}  // namespace multicard
