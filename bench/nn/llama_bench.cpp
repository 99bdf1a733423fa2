// Tuning steps (forward, backward) of a language model with adapters on the CPU: tokens/s by the processor time of this
// process (the better measure where others compute too) and the share of each operation.
//   llama_bench [dtype=fp32,bf16] [rows=2] [length=512] [rank=16] [targets=1.0] [steps=3] [threads=1] [layers=30]
//               [checkpointing=0|1] [shares=0|1] [parts=0|1]
// The shape is SmolLM2-135M's with random weights of the type. targets is the share of positions with a target. parts=1
// times the forward pass alone, too.
#include <cmath>
#include <cstdio>
#include <ctime>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>

#include "base/System.hpp"
#include "nn/language/Llama.hpp"
#include "operation_shares.hpp"
#include "options.hpp"

namespace {

using namespace multicard;

using bench::Options;

const Options kDefaults{{"dtype", "fp32,bf16"}, {"rows", "2"},   {"length", "512"}, {"rank", "16"},
                        {"targets", "1.0"},     {"steps", "3"},  {"threads", "1"},  {"layers", "30"},
                        {"checkpointing", "0"}, {"shares", "0"}, {"parts", "0"}};

LlamaConfig smollm2(std::int64_t layers) {
  LlamaConfig config;
  config.vocabulary_size = 49152;
  config.hidden_size = 576;
  config.intermediate_size = 1536;
  config.num_layers = layers;
  config.num_heads = 9;
  config.num_kv_heads = 3;
  config.head_dim = 64;
  config.rope_theta = 100000;
  config.norm_epsilon = 1e-5;
  config.has_tied_embeddings = true;
  return config;
}

class Step {
 public:
  Step(const Options& options, at::ScalarType dtype)
      : rows_(std::stoll(options.at("rows"))),
        length_(std::stoll(options.at("length"))),
        network_(smollm2(std::stoll(options.at("layers"))), dtype, at::kCPU) {
    network_.initialise(1);
    network_.add_adapters({.settings = {.rank = std::stoi(options.at("rank")), .alpha = 32}});
    if (options.at("checkpointing") == "1") network_.set_checkpointing(Checkpointing::per_layer);
    tokens_ = at::randint(49152, {rows_, length_}, at::kLong);
    targets_ = at::full({rows_, length_}, -100, at::kLong);
    const auto count = static_cast<std::int64_t>(std::stod(options.at("targets")) * static_cast<double>(length_ - 1));
    targets_.narrow(1, length_ - 1 - count, count).copy_(tokens_.narrow(1, length_ - count, count));
    shapes_.assign(static_cast<std::size_t>(rows_), RowShape{{length_}, count});
  }

  void forward() {
    const at::NoGradGuard no_grad;
    network_.loss_sum({tokens_, targets_, shapes_});
  }
  void run() {
    network_.loss_sum({tokens_, targets_, shapes_}).backward();
    for (const NamedTensor& parameter : network_.parameters())
      at::Tensor(parameter.tensor).mutable_grad().zero_();
  }
  std::int64_t num_tokens() const { return rows_ * length_; }

 private:
  std::int64_t rows_, length_;
  Llama network_;
  at::Tensor tokens_, targets_;
  std::vector<RowShape> shapes_;
};

// Median seconds of processor time.
template <typename Body>
double timed(int count, const Body& body) {
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) {
    const std::clock_t start = std::clock();
    body();
    seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void measure(const Options& options, const std::string& name) {
  const at::ScalarType dtype = name == "bf16" ? at::kBFloat16 : name == "fp16" ? at::kHalf : at::kFloat;
  const int steps = std::stoi(options.at("steps"));
  Step step(options, dtype);
  step.run();
  const double seconds = timed(steps, [&] { step.run(); });
  std::printf("%s: %.1f tokens/s, %.3f s a step, peak %.2f GB", name.c_str(),
              static_cast<double>(step.num_tokens()) / seconds, seconds,
              static_cast<double>(peak_resident_bytes()) / 1e9);
  if (options.at("parts") == "1") std::printf(", forward alone %.3f s", timed(steps, [&] { step.forward(); }));
  std::printf("\n");
  std::fflush(stdout);
  if (options.at("shares") == "1") bench::print_shares([&] { step.run(); });
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = bench::read_options(kDefaults, argc, argv);
  keep_freed_memory();
  at::set_num_threads(std::stoi(options.at("threads")));
  for (const std::string& name : bench::list_of(options.at("dtype")))
    measure(options, name);
  return 0;
}
