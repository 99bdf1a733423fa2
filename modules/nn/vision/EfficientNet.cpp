#include "nn/vision/EfficientNet.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include "nn/layers/Random.hpp"
#include "profiler/BlockScope.hpp"

namespace multicard {
namespace {

struct Stage {
  std::int64_t expansion, kernel, stride, out, repeats;
};

// Table 1 of the paper.
constexpr std::array<Stage, 7> kStages{{{1, 3, 1, 16, 1},
                                        {6, 3, 2, 24, 2},
                                        {6, 5, 2, 40, 2},
                                        {6, 3, 2, 80, 3},
                                        {6, 5, 1, 112, 3},
                                        {6, 5, 2, 192, 4},
                                        {6, 3, 1, 320, 1}}};
constexpr std::int64_t kStem = 32, kFeatures = 1280;
constexpr std::int64_t kStemStride = 2;
constexpr double kDropout = 0.2, kStochasticDepth = 0.2;

// Kaiming-normal for what leaves a layer, as torchvision initialises convolutions.
Initial of_fan_out(std::int64_t fan_out) {
  return {Initial::Distribution::normal, std::sqrt(2.0 / static_cast<double>(fan_out))};
}

}  // namespace

at::Tensor SqueezeExcitation::forward(const at::Tensor& x) const {
  const at::Tensor factors = excite.forward(at::silu(squeeze.forward(x.mean({2, 3})))).sigmoid();
  return x * factors.unsqueeze(-1).unsqueeze(-1);
}

std::vector<at::Tensor> MobileBlock::convolutions() const {
  std::vector<at::Tensor> weights{depthwise.weight, scale.squeeze.weight, scale.excite.weight, project.weight};
  if (expand) weights.insert(weights.begin(), expand->weight);
  return weights;
}

bool MobileBlock::adds_input() const {
  const std::int64_t in = expand ? expand->convolution.in : depthwise.convolution.in;
  return depthwise.convolution.stride == 1 && in == project.convolution.out;
}

// Stochastic depth leaves out the block's branch, not its input, row by row; the rows that stay are divided by 1 - p.
at::Tensor MobileBlock::forward(const at::Tensor& x, const NormContext& context, std::uint64_t seed) const {
  const at::Tensor expanded = expand ? expand->forward(x, context, Activation::silu) : x;
  const at::Tensor scaled = scale.forward(depthwise.forward(expanded, context, Activation::silu));
  if (!adds_input()) return project.forward(scaled, context, Activation::none);
  if (context.mode == Mode::evaluate || drop == 0) return project.forward_add(scaled, context, x);
  return seeded_row_dropout(project.forward(scaled, context, Activation::none), drop, seed) + x;
}

EfficientNet::EfficientNet(const NetworkOptions& options) : Network(options.seed) {
  stem_ = add_conv_norm("features.0.0", "features.0.1", {.in = 3, .out = kStem, .kernel = 3, .stride = kStemStride});
  std::int64_t num_channels = kStem, num_blocks = 0, number = 0;
  for (const Stage& stage : kStages)
    num_blocks += stage.repeats;
  const double deepest = options.stochastic_depth.value_or(kStochasticDepth);
  for (const Stage& stage : kStages) {
    const std::string name = "features." + std::to_string(++number) + ".";
    for (std::int64_t i = 0; i < stage.repeats; ++i) {
      // Linear in depth: block i of n drops with p i / n.
      const double share = static_cast<double>(blocks_.size()) / static_cast<double>(num_blocks);
      blocks_.push_back(add_block(
          name + std::to_string(i) + ".block.", stage.expansion,
          {.in = num_channels, .out = stage.out, .kernel = stage.kernel, .stride = i == 0 ? stage.stride : 1}));
      blocks_.back().drop = deepest * share;
      mark_block(blocks_.back().convolutions());
      num_channels = stage.out;
    }
  }
  head_ = add_conv_norm("features.8.0", "features.8.1", {.in = num_channels, .out = kFeatures});
  head_block_ = mark_block({head_.weight});
  const double bound = 1.0 / std::sqrt(static_cast<double>(options.classes));
  add_classifier("classifier.1", kFeatures, options.classes, {Initial::Distribution::uniform, bound}, {},
                 options.dropout.value_or(kDropout));
}

// `shape` goes from the block's input to its output with the kernel and the stride of the depthwise convolution.
MobileBlock EfficientNet::add_block(const std::string& name, std::int64_t expansion, const Convolution& shape) {
  const std::int64_t hidden = shape.in * expansion;
  MobileBlock block;
  int index = 0;
  const auto add_pair = [&](const Convolution& convolution) {
    const std::string number = name + std::to_string(index++);
    return add_conv_norm(number + ".0", number + ".1", convolution);
  };
  if (expansion != 1) block.expand = add_pair({.in = shape.in, .out = hidden});
  block.depthwise =
      add_pair({.in = hidden, .out = hidden, .kernel = shape.kernel, .stride = shape.stride, .groups = hidden});
  // A quarter of the block's input channels, not of the expanded ones.
  block.scale = add_squeeze_excitation(name + std::to_string(index++), hidden, std::max<std::int64_t>(1, shape.in / 4));
  block.project = add_pair({.in = hidden, .out = shape.out});
  return block;
}

SqueezeExcitation EfficientNet::add_squeeze_excitation(const std::string& name, std::int64_t num_channels,
                                                       std::int64_t squeezed) {
  SqueezeExcitation result;
  result.squeeze.weight = add_parameter(name + ".fc1.weight", {squeezed, num_channels, 1, 1}, of_fan_out(squeezed));
  result.squeeze.bias = add_parameter(name + ".fc1.bias", {squeezed}, {});
  result.excite.weight = add_parameter(name + ".fc2.weight", {num_channels, squeezed, 1, 1}, of_fan_out(num_channels));
  result.excite.bias = add_parameter(name + ".fc2.bias", {num_channels}, {});
  return result;
}

std::int64_t EfficientNet::total_stride() {
  std::int64_t stride = kStemStride;
  for (const Stage& stage : kStages)
    stride *= stage.stride;
  return stride;
}

at::Tensor EfficientNet::forward(const at::Tensor& images_NCHW) {
  at::Tensor x = forward_stem(stem_, images_NCHW, Activation::silu);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const BlockScope scope("blocks", static_cast<std::int64_t>(i));
    x = in_block(i, x, [&](const at::Tensor& in) {
      return blocks_[i].forward(in, norm_context(), seed_of_stream(dropout_seed(), i));
    });
  }
  const BlockScope scope("head");
  x = in_block(head_block_, x,
               [&](const at::Tensor& in) { return head_.forward(in, norm_context(), Activation::silu); });
  return classify(x);
}

}  // namespace multicard
