// MobileNetV2 training steps (forward, backward, SGD) on the CPU with this program's kernels and with ATen's, step by
// step in turn: images/s by the processor time of this process (the better measure where others compute too), and the
// ratio.
//   step_bench [size=100,224] [layout=nhwc,nchw] [dtype=fp32,bf16,fp64] [kernels=own,aten] [steps=5] [batch=32]
//              [threads=1] [width=1.0] [shares=0|1]
// dtype, layout and size may be lists; every combination is a line. bf16 computes the forward pass under autocast, as a
// run does. shares=1 adds the share of each operation.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>

#include "base/System.hpp"
#include "device/Precision.hpp"
#include "nn/losses/Losses.hpp"
#include "nn/vision/NetworkFactory.hpp"
#include "operation_shares.hpp"
#include "options.hpp"

namespace {

using namespace multicard;

using bench::Options;

const Options kDefaults{
    {"size", "100,224"}, {"layout", "nhwc,nchw"}, {"kernels", "own,aten"},     {"steps", "5"},  {"batch", "32"},
    {"threads", "1"},    {"shares", "0"},         {"dtype", "fp32,bf16,fp64"}, {"width", "1.0"}};

struct Case {
  std::string dtype, layout, size;
};

class Step {
 public:
  Step(const Options& options, const Case& shape, Kernels kernels)
      : precision_(value_of<Precision>(shape.dtype, kPrecisionWords).value()),
        network_(
            make_network("mobilenet_v2", {.width = std::stod(options.at("width")), .classes = 1000, .dropout = 0.2})) {
    const std::int64_t batch = std::stoll(options.at("batch")), size = std::stoll(shape.size);
    const auto layout = shape.layout == "nhwc" ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    const at::ScalarType dtype = master_type(precision_);
    network_->to(at::kCPU, dtype, layout);
    network_->set_kernels(kernels);
    images_ = at::randn({batch, 3, size, size}).to(dtype).contiguous(layout);
    labels_ = at::randint(1000, {batch}, at::kLong);
    for (const NamedTensor& parameter : network_->parameters())
      momenta_.push_back(at::zeros_like(parameter.tensor.detach()));
  }

  void run() {
    network_->set_dropout_seed(++step_);
    loss().backward();
    update();
  }
  // Seconds of processor time.
  double timed() {
    const std::clock_t start = std::clock();
    run();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  }

 private:
  at::Tensor loss() {
    const Autocast autocast(precision_, at::kCPU);
    return cross_entropy(network_->forward(images_), labels_, labels_.size(0));
  }
  void update() {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < momenta_.size(); ++i) {
      at::Tensor parameter = network_->parameters()[i].tensor;
      momenta_[i].mul_(0.9).add_(parameter.grad());
      parameter.sub_(momenta_[i], 1e-4);
      parameter.mutable_grad().reset();
    }
  }

  Precision precision_;
  std::unique_ptr<Network> network_;
  at::Tensor images_, labels_;
  std::vector<at::Tensor> momenta_;
  std::uint64_t step_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const Options& options, const Case& shape) {
  const std::vector<std::string> names = bench::list_of(options.at("kernels"));
  std::vector<Step> steps;
  for (const std::string& name : names)
    steps.emplace_back(options, shape, name == "own" ? Kernels::automatic : Kernels::aten);
  for (Step& step : steps)
    for (int i = 0; i < 2; ++i)
      step.run();
  std::vector<std::vector<double>> seconds(steps.size());
  for (int i = 0; i < std::stoi(options.at("steps")); ++i)
    for (std::size_t k = 0; k < steps.size(); ++k)
      seconds[k].push_back(steps[k].timed());

  std::printf("%s px %s %s:", shape.size.c_str(), shape.layout.c_str(), shape.dtype.c_str());
  for (std::size_t k = 0; k < steps.size(); ++k)
    std::printf(" %s %.1f images/s", names[k].c_str(), std::stod(options.at("batch")) / median(seconds[k]));
  if (steps.size() == 2) std::printf(", ratio %.2f", median(seconds[1]) / median(seconds[0]));
  std::printf("\n");
  std::fflush(stdout);
  if (options.at("shares") == "0") return;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    std::printf(" %s\n", names[k].c_str());
    bench::print_shares([&] {
      for (int i = 0; i < 3; ++i)
        steps[k].run();
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = bench::read_options(kDefaults, argc, argv);
  keep_freed_memory();
  at::set_num_threads(std::stoi(options.at("threads")));
  for (const std::string& size : bench::list_of(options.at("size")))
    for (const std::string& layout : bench::list_of(options.at("layout")))
      for (const std::string& dtype : bench::list_of(options.at("dtype")))
        compare(options, {dtype, layout, size});
  return 0;
}
