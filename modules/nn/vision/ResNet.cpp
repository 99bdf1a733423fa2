#include "nn/vision/ResNet.hpp"

#include <array>
#include <cmath>

#include <ATen/ops/max_pool2d.h>

#include "profiler/BlockScope.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kNumStages = 4, kStemStride = 2, kPoolStride = 2;

/// Of the first block of a stage.
constexpr std::int64_t stride_of_stage(std::size_t stage) {
  return stage > 0 ? 2 : 1;
}

enum class BlockKind { basic, bottleneck };

struct Layout {
  BlockKind kind;
  std::array<std::int64_t, kNumStages> repeats;
};

Layout layout_of(ResNet::Depth depth) {
  return depth == ResNet::Depth::layers18 ? Layout{BlockKind::basic, {2, 2, 2, 2}}
                                          : Layout{BlockKind::bottleneck, {3, 4, 6, 3}};
}

// Of `width` channels inside, as table 1 of the paper.
// The stride of a bottleneck is in the 3x3 convolution (torchvision, "v1.5"); the paper has it in the first 1x1, which
// loses three quarters of the input's places.
std::vector<Convolution> shapes_of(BlockKind kind, std::int64_t in, std::int64_t width, std::int64_t stride) {
  if (kind == BlockKind::basic)
    return {{.in = in, .out = width, .kernel = 3, .stride = stride}, {.in = width, .out = width, .kernel = 3}};
  return {{.in = in, .out = width},
          {.in = width, .out = width, .kernel = 3, .stride = stride},
          {.in = width, .out = 4 * width}};
}

}  // namespace

ResNet::ResNet(Depth depth, const NetworkOptions& options) : Network(options.seed) {
  const Layout layout = layout_of(depth);
  std::int64_t num_channels = 64;
  stem_ = add_conv_norm("conv1", "bn1", {.in = 3, .out = num_channels, .kernel = 7, .stride = kStemStride});
  for (std::size_t stage = 0; stage < layout.repeats.size(); ++stage) {
    const std::string name = "layer" + std::to_string(stage + 1) + ".";
    for (std::int64_t i = 0; i < layout.repeats[stage]; ++i) {
      const std::int64_t stride = i == 0 ? stride_of_stage(stage) : 1;
      const auto shapes = shapes_of(layout.kind, num_channels, std::int64_t{64} << stage, stride);
      blocks_.push_back(add_block(name + std::to_string(i) + ".", shapes));
      num_channels = shapes.back().out;
    }
  }
  const Initial initial{Initial::Distribution::uniform, 1.0 / std::sqrt(static_cast<double>(num_channels))};
  add_classifier("fc", num_channels, options.classes, initial, initial, /*dropout=*/0.0);
}

ResidualBlock ResNet::add_block(const std::string& name, const std::vector<Convolution>& shapes) {
  ResidualBlock block;
  const std::string convolution = name + "conv", norm = name + "bn";
  std::int64_t stride = 1;
  for (const Convolution& shape : shapes) {
    const std::string number = std::to_string(block.layers.size() + 1);
    block.layers.push_back(add_conv_norm(convolution + number, norm + number, shape));
    stride *= shape.stride;
  }
  const std::int64_t in = shapes.front().in, out = shapes.back().out;
  if (stride != 1 || in != out)
    block.shortcut =
        add_conv_norm(name + "downsample.0", name + "downsample.1", {.in = in, .out = out, .stride = stride});
  block.first = mark_block({block.layers.front().weight});
  for (std::size_t i = 1; i + 1 < block.layers.size(); ++i)
    mark_block({block.layers[i].weight});
  if (block.shortcut) mark_block({block.shortcut->weight});
  mark_block({block.layers.back().weight});
  return block;
}

at::Tensor ResNet::forward(const ResidualBlock& block, const at::Tensor& x) const {
  std::size_t place = block.first;
  at::Tensor y = x, residual = x;
  for (std::size_t i = 0; i + 1 < block.layers.size(); ++i)
    y = in_block(place++, y,
                 [&](const at::Tensor& in) { return block.layers[i].forward(in, norm_context(), Activation::relu); });
  if (block.shortcut)
    residual = in_block(place++, x, [&](const at::Tensor& in) {
      return block.shortcut->forward(in, norm_context(), Activation::none);
    });
  return in_block(place, y, [&](const at::Tensor& in) {
    return block.layers.back().forward_add(in, norm_context(), residual, Activation::relu);
  });
}

std::int64_t ResNet::total_stride() {
  std::int64_t stride = kStemStride * kPoolStride;
  for (std::size_t stage = 0; stage < kNumStages; ++stage)
    stride *= stride_of_stage(stage);
  return stride;
}

at::Tensor ResNet::forward(const at::Tensor& images_NCHW) {
  at::Tensor x = forward_stem(stem_, images_NCHW, Activation::relu);
  x = at::max_pool2d(x, {3, 3}, {kPoolStride, kPoolStride}, {1, 1});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const BlockScope scope("blocks", static_cast<std::int64_t>(i));
    x = forward(blocks_[i], x);
  }
  const BlockScope scope("head");
  return classify(x);
}

}  // namespace multicard
