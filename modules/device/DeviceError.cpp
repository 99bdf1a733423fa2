#include "device/DeviceError.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/AnyError.hpp"

namespace multicard {

namespace {

/// The first line, without the words that all of them begin with.
std::string first_line(const c10::Error& error) {
  std::string text = error.what_without_backtrace();
  text = text.substr(0, text.find('\n'));
  const std::string common = "CUDA error: ";
  return text.starts_with(common) ? text.substr(common.size()) : text;
}

/// Calls with arguments that the driver refuses are the program's.
bool is_misuse(std::int32_t cuda_code) {
  // As cudaError_t has them, which builds without CUDA do not know; LibTorch's AcceleratorError carries the number.
  constexpr std::int32_t kInvalidValue = 1, kInvalidConfiguration = 9;
  return cuda_code == kInvalidValue || cuda_code == kInvalidConfiguration;
}

template <std::size_t size>
bool contains_one_of(const std::string& text, const std::array<const char*, size>& signs) {
  return std::any_of(signs.begin(), signs.end(),
                     [&](const char* sign) { return text.find(sign) != std::string::npos; });
}

/// cuBLAS, cuDNN and the driver have no type of error of their own.
bool reports_device_failure(const std::string& text) {
  constexpr std::array kSigns{"CUBLAS_STATUS_EXECUTION_FAILED",  "CUBLAS_STATUS_NOT_INITIALIZED",
                              "CUBLAS_STATUS_INTERNAL_ERROR",    "CUDNN_STATUS_EXECUTION_FAILED",
                              "CUDNN_STATUS_NOT_INITIALIZED",    "CUDNN_STATUS_INTERNAL_ERROR",
                              "CUDNN_STATUS_SUBLIBRARY_LOADING", "CUDA driver error:"};
  return contains_one_of(text, kSigns);
}

/// The driver and the libraries allocate too: a kernel at its first launch, handles, workspaces. Where cuDNN finds no
/// memory for the workspace of any algorithm, it says that there is none.
bool is_out_of_memory(const c10::Error& error, const std::string& text) {
  constexpr std::int32_t kMemoryAllocation = 2;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const auto* accelerator = dynamic_cast<const c10::AcceleratorError*>(&error);
  if (accelerator) return accelerator->get_error_code() == kMemoryAllocation;
  constexpr std::array kSigns{"CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED",
                              "CUDA driver error: out of memory", "unable to find an engine to execute"};
  return contains_one_of(text, kSigns);
}

const char* less_memory(MemoryUse use) {
  return use == MemoryUse::setup
             ? "The weights, gradients and optimizer state alone do not fit: choose a smaller model or dtype, tune "
               "adapters instead of all weights (method: lora), split it over ranks (parallel.shard=auto), or use a "
               "device with more memory."
             : "Lower run.micro_batch, run.global_batch, data.image_size or data.max_length.";
}

}  // namespace

std::optional<EnvironmentError> device_error(const c10::Error& error, const std::string& when,
                                             const std::string& memory, MemoryUse use) {
  const std::string why = first_line(error);
  if (is_out_of_memory(error, why))
    return EnvironmentError(std::string(kOutOfMemory) + when, memory.empty() ? why : why + "; " + memory,
                            less_memory(use));
  const auto* accelerator = dynamic_cast<const c10::AcceleratorError*>(&error);
  const bool is_device = accelerator ? !is_misuse(accelerator->get_error_code()) : reports_device_failure(why);
  if (!is_device) return std::nullopt;
  return EnvironmentError(
      "the device failed" + when, why,
      "Look for Xid and ECC errors (dmesg, nvidia-smi -q) and resume from the newest checkpoint. If "
      "it happens again on another device, CUDA_LAUNCH_BLOCKING=1 shows the operation.");
}

Error any_error(const std::exception& error, MemoryUse use) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string when = use == MemoryUse::setup ? " while the run was set up" : "";
  const auto of_host = [&] {
    return use == MemoryUse::step
               ? as_error(std::bad_alloc())
               : EnvironmentError("out of memory" + when, "an allocation on the host failed", less_memory(use));
  };
  // What oneDNN throws when it gets no memory for the code that it generates. LibTorch does not export the type.
  if (!of_torch && std::string_view(error.what()) == "could not create a primitive") return of_host();
  if (!of_torch) return as_error(error);
  if (const auto found = device_error(*of_torch, when, "", use)) return *found;
  if (contains_one_of(first_line(*of_torch), std::array{"can't allocate memory"})) return of_host();
  const bool backtrace = std::getenv("MULTICARD_BACKTRACE") != nullptr;
  return Error(ExitCode::defect, "unexpected error", backtrace ? of_torch->what() : of_torch->what_without_backtrace(),
               "This is a defect: report it.");
}

}  // namespace multicard
