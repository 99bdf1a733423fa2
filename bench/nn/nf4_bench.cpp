// Dequantising NF4 on one core against copying as many bytes, and QLoRA's products against those of dense weights.
//
// usage: bench_nn_nf4 [REPEATS]      medians over the repeats (21), which alternate

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>

#include "base/Quantiles.hpp"
#include "kernels/Nf4.hpp"
#include "nn/layers/BaseWeight.hpp"

namespace multicard {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median seconds of both, run in turn.
std::pair<double, double> paired(int repeats, const std::function<void()>& a, const std::function<void()>& b) {
  std::vector<double> of_a, of_b;
  a();
  b();
  for (int i = 0; i < repeats; ++i) {
    of_a.push_back(seconds_of(a));
    of_b.push_back(seconds_of(b));
  }
  return {median(of_a), median(of_b)};
}

void compare_with_copy(at::ScalarType dtype, int repeats) {
  constexpr std::int64_t kRows = 4096, kColumns = 4096;
  const Nf4Matrix matrix = quantise_nf4(at::randn({kRows, kColumns}), DoubleQuantisation::on);
  const at::Tensor values = at::randn({kRows, kColumns}).to(dtype), copy = values.clone();
  const auto [dequantise, plain] = paired(
      repeats, [&] { dequantise_nf4(matrix, 0, values); }, [&] { copy.copy_(values); });
  const double gigabytes = static_cast<double>(values.nbytes()) / 1e9;
  std::printf("%-9s dequantise %6.2f GB/s written, copy %6.2f GB/s written: %.2f\n", c10::toString(dtype),
              gigabytes / dequantise, gigabytes / plain, plain / dequantise);
}

void compare_products(std::int64_t tokens, std::int64_t in, std::int64_t out, int repeats) {
  const at::Tensor weight = at::randn({out, in}), x = at::randn({tokens, in}), dy = at::randn({tokens, out});
  const DenseWeight dense(weight);
  Nf4Weight quantised(in, {{out}}, DoubleQuantisation::on, at::kCPU);
  quantised.fill(0, weight);
  const auto [forward, dense_forward] = paired(
      repeats, [&] { quantised.matmul(x); }, [&] { dense.matmul(x); });
  const auto [backward, dense_backward] = paired(
      repeats, [&] { quantised.transposed_matmul(dy); }, [&] { dense.transposed_matmul(dy); });
  std::printf("%5ld tokens, %5ld -> %5ld: forward %.2f, backward %.2f times the seconds of dense weights\n",
              static_cast<long>(tokens), static_cast<long>(in), static_cast<long>(out), forward / dense_forward,
              backward / dense_backward);
}

}  // namespace
}  // namespace multicard

int main(int argc, char** argv) {
  using namespace multicard;
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 21;
  at::set_num_threads(1);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16})
    compare_with_copy(dtype, repeats);
  for (const std::int64_t tokens : {std::int64_t{128}, std::int64_t{1024}}) {
    compare_products(tokens, 576, 1536, repeats);   // SmolLM2-135M
    compare_products(tokens, 4096, 4096, repeats);  // Llama-3-8B
  }
}
