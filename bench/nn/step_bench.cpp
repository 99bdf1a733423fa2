// Images/s of a MobileNetV2 training step (forward, backward, SGD) on the CPU, by the clock and by the processor time
// of this process (the better measure where others compute too), and the share of its operations.
//   step_bench [size=100] [layout=nhwc|nchw] [kernels=own|aten] [steps=10] [batch=32] [threads=1] [shares=0|1]
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
#include <ATen/record_function.h>

#include "base/Clock.hpp"
#include "base/System.hpp"
#include "nn/Losses.hpp"
#include "nn/NetworkFactory.hpp"

namespace {

using namespace multicard;

using Options = std::map<std::string, std::string>;

Options options_of(int argc, char** argv) {
  Options options{{"size", "100"}, {"layout", "nhwc"}, {"kernels", "own"}, {"steps", "10"},
                  {"batch", "32"}, {"threads", "1"},   {"shares", "0"},    {"dtype", "fp32"}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    if (equals == std::string::npos || !options.contains(word.substr(0, equals))) {
      std::fprintf(stderr, "unknown option %s\n", word.c_str());
      std::exit(2);
    }
    options[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return options;
}

// Seconds an operation took itself, without the operations inside it.
struct OpenOperation : at::ObserverContext {
  TimePoint start = SteadyClock::now();
  double inner = 0;
  OpenOperation* outer = nullptr;
};
thread_local OpenOperation* innermost = nullptr;
std::map<std::string, double> seconds_by_operation;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction&) {
  auto operation = std::make_unique<OpenOperation>();
  operation->outer = innermost;
  innermost = operation.get();
  return operation;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  auto* operation = static_cast<OpenOperation*>(context);
  const double seconds = seconds_since(operation->start);
  seconds_by_operation[function.name()] += seconds - operation->inner;
  innermost = operation->outer;
  if (innermost) innermost->inner += seconds;
}

void print_shares() {
  double total = 0;
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [name, seconds] : seconds_by_operation) {
    rows.emplace_back(seconds, name);
    total += seconds;
  }
  std::sort(rows.rbegin(), rows.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 16); ++i)
    std::printf("  %5.1f %%  %s\n", 100 * rows[i].first / total, rows[i].second.c_str());
}

class Step {
 public:
  explicit Step(const Options& options)
      : network_(make_network("mobilenet_v2", {.width = 1.0, .classes = 1000, .dropout = 0.2})) {
    const std::int64_t batch = std::stoll(options.at("batch")), size = std::stoll(options.at("size"));
    const auto layout = options.at("layout") == "nhwc" ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    const auto dtype = options.at("dtype") == "fp64" ? at::kDouble : at::kFloat;
    network_->to(at::kCPU, dtype, layout);
    if (options.at("kernels") == "aten") network_->set_kernels(Kernels::aten);
    images_ = at::randn({batch, 3, size, size}).to(dtype).contiguous(layout);
    labels_ = at::randint(1000, {batch}, at::kLong);
    for (const NamedTensor& parameter : network_->parameters())
      momenta_.push_back(at::zeros_like(parameter.tensor.detach()));
  }

  double run() {
    const TimePoint start = SteadyClock::now();
    network_->set_dropout_seed(++step_);
    const at::Tensor logits = network_->forward(images_);
    const at::Tensor loss = cross_entropy(logits, labels_, labels_.size(0));
    forward_ += seconds_since(start);
    loss.backward();
    update();
    return seconds_since(start);
  }
  double forward_seconds() const { return forward_; }

 private:
  void update() {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < momenta_.size(); ++i) {
      at::Tensor parameter = network_->parameters()[i].tensor;
      momenta_[i].mul_(0.9).add_(parameter.grad());
      parameter.sub_(momenta_[i], 1e-4);
      parameter.mutable_grad().reset();
    }
  }

  std::unique_ptr<Network> network_;
  at::Tensor images_, labels_;
  std::vector<at::Tensor> momenta_;
  std::uint64_t step_ = 0;
  double forward_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  keep_freed_memory();
  at::set_num_threads(std::stoi(options.at("threads")));
  Step step(options);
  for (int i = 0; i < 2; ++i)
    step.run();

  std::vector<double> seconds;
  const std::clock_t processor_start = std::clock();
  for (int i = 0; i < std::stoi(options.at("steps")); ++i)
    seconds.push_back(step.run());
  const double processor = static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
  std::sort(seconds.begin(), seconds.end());
  const double batch = std::stod(options.at("batch"));
  std::printf("%s px %s %s %s: %.1f images/s median, %.1f best, %.1f by processor time\n", options.at("size").c_str(),
              options.at("layout").c_str(), options.at("dtype").c_str(), options.at("kernels").c_str(),
              batch / seconds[seconds.size() / 2], batch / seconds.front(),
              batch * static_cast<double>(seconds.size()) / processor);
  if (options.at("shares") == "1") {
    at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end));
    for (int i = 0; i < 3; ++i)
      step.run();
    print_shares();
  }
  return 0;
}
