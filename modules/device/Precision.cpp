#include "device/Precision.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

constexpr int kAmpere = 8;

EnvironmentError unable(const std::string& precision, const std::string& why) {
  return EnvironmentError(fmt::format("precision {} is not possible here", precision), why,
                          "Choose another precision (docs/decks.md) or another device.");
}

void check_gpu(Precision precision, const GpuInfo& gpu) {
  // Older GPUs would compute bf16 through float32, slower than float32 itself.
  const bool needs_ampere = precision == Precision::tf32 || precision == Precision::bf16;
  if (!needs_ampere || gpu.compute_major >= kAmpere) return;
  throw unable(
      precision == Precision::tf32 ? "tf32" : "bf16",
      fmt::format("{} has compute capability {}.{}, and it takes 8.0", gpu.name, gpu.compute_major, gpu.compute_minor));
}

/// What a CPU can do depends on its instructions and on the libraries inside LibTorch: ask them.
void try_out(at::ScalarType type) {
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions().dtype(type);
  at::matmul(at::ones({8, 8}, options), at::ones({8, 8}, options));
  at::convolution(at::ones({1, 8, 8, 8}, options), at::ones({8, 8, 3, 3}, options), {}, {1, 1}, {1, 1}, {1, 1}, false,
                  {0, 0}, 1);
}

void check_cpu(Precision precision) {
  if (precision == Precision::tf32) throw unable("tf32", "it is a mode of NVIDIA GPUs, and this run is on a CPU");
  const std::optional<at::ScalarType> type = autocast_type(precision);
  if (!type) return;
  try {
    try_out(*type);
  } catch (const c10::Error& error) {
    throw unable(*type == at::kHalf ? "fp16" : "bf16",
                 fmt::format("this CPU does not compute with it: {}", error.what_without_backtrace()));
  }
}

}  // namespace

at::ScalarType master_type(Precision precision) {
  return precision == Precision::fp64 ? at::kDouble : at::kFloat;
}

std::optional<at::ScalarType> autocast_type(Precision precision) {
  if (precision == Precision::fp16) return at::kHalf;
  if (precision == Precision::bf16) return at::kBFloat16;
  return std::nullopt;
}

void check_precision(Precision precision, at::Device device, const std::optional<GpuInfo>& gpu) {
  if (device.is_cuda())
    check_gpu(precision, gpu.value());
  else
    check_cpu(precision);
}

Autocast::Autocast(Precision precision, at::Device device) : device_(device.type()) {
  const std::optional<at::ScalarType> type = autocast_type(precision);
  active_ = type.has_value();
  if (!active_) return;
  enabled_before_ = at::autocast::is_autocast_enabled(device_);
  type_before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, *type);
  // The order of at::autocast's own guards. Casts of weights are cached until the outermost scope ends; they must go
  // then, because the next update changes the weights they were made from.
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

}  // namespace multicard
