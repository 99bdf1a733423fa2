#include "nn/vision/MobileNetV2.hpp"

#include <algorithm>
#include <array>

#include "profiler/BlockScope.hpp"

namespace multicard {
namespace {

struct Stage {
  std::int64_t expansion, channels, repeats, stride;
};

// Table 2 of the paper.
constexpr std::array<Stage, 7> kStages{
    {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
constexpr std::int64_t kStemStride = 2;
constexpr double kDropout = 0.2;

// The nearest multiple of 8, at least 8, that is not more than 10 % below `channels`.
// torchvision's _make_divisible(): widths must give the channels of the published weights.
std::int64_t rounded_channels(double channels) {
  const std::int64_t nearest = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4.0) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + 8 : nearest;
}

}  // namespace

MobileNetV2::MobileNetV2(const NetworkOptions& options) : Network(options.seed) {
  const std::int64_t stem = rounded_channels(32 * options.width);
  stem_ = add_conv_norm("features.0.0", "features.0.1", {.in = 3, .out = stem, .kernel = 3, .stride = kStemStride});
  add_blocks(options, stem);
  const std::int64_t last = rounded_channels(1280 * std::max(1.0, options.width));
  head_ = add_conv_norm("features.18.0", "features.18.1", {.in = blocks_.back().project.convolution.out, .out = last});
  head_block_ = mark_block({head_.weight});
  add_classifier("classifier.1", last, options.classes, {Initial::Distribution::normal, 0.01}, {},
                 options.dropout.value_or(kDropout));
}

void MobileNetV2::add_blocks(const NetworkOptions& options, std::int64_t num_channels) {
  for (const Stage& stage : kStages)
    for (std::int64_t i = 0; i < stage.repeats; ++i) {
      const std::int64_t out = rounded_channels(static_cast<double>(stage.channels) * options.width);
      const std::string name = "features." + std::to_string(blocks_.size() + 1) + ".conv.";
      blocks_.push_back(add_block(name, num_channels, out, i == 0 ? stage.stride : 1, stage.expansion));
      mark_block(blocks_.back().convolutions());
      num_channels = out;
    }
}

InvertedResidual MobileNetV2::add_block(const std::string& name, std::int64_t in, std::int64_t out, std::int64_t stride,
                                        std::int64_t expansion) {
  const std::int64_t hidden = in * expansion;
  InvertedResidual block;
  int index = 0;
  const auto add_pair = [&](const Convolution& shape) {
    const std::string number = name + std::to_string(index++);
    return add_conv_norm(number + ".0", number + ".1", shape);
  };
  if (expansion != 1) block.expand = add_pair({.in = in, .out = hidden});
  block.depthwise = add_pair({.in = hidden, .out = hidden, .kernel = 3, .stride = stride, .groups = hidden});
  // The projection's norm is a sibling of its convolution in torchvision's names (conv.2, conv.3), unlike in the pairs
  // before.
  block.project =
      add_conv_norm(name + std::to_string(index), name + std::to_string(index + 1), {.in = hidden, .out = out});
  return block;
}

std::int64_t MobileNetV2::total_stride() {
  std::int64_t stride = kStemStride;
  for (const Stage& stage : kStages)
    stride *= stage.stride;
  return stride;
}

at::Tensor MobileNetV2::forward(const at::Tensor& images_NCHW) {
  at::Tensor x = forward_stem(stem_, images_NCHW, Activation::relu6);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const BlockScope scope("blocks", static_cast<std::int64_t>(i));
    x = in_block(i, x, [&](const at::Tensor& in) { return blocks_[i].forward(in, norm_context()); });
  }
  const BlockScope scope("head");
  x = in_block(head_block_, x,
               [&](const at::Tensor& in) { return head_.forward(in, norm_context(), Activation::relu6); });
  return classify(x);
}

}  // namespace multicard
