#include "device/GpuProblem.hpp"

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

std::string major_of(const std::string& version) {
  return version.substr(0, version.find('.'));
}

std::string minor_of(const std::string& version) {
  const std::size_t dot = version.find('.');
  return dot == std::string::npos ? "0" : version.substr(dot + 1);
}

/// " 550.54.15", or nothing where the version is not known.
std::string after_space(const std::string& version) {
  return version.empty() ? "" : " " + version;
}

std::string driver_needs(const GpuFindings& findings) {
  const std::string needed = driver_needed_for(findings.cuda_runtime);
  if (needed.empty()) return "a newer driver is needed";
  return fmt::format("CUDA {} needs driver {} or newer", major_of(findings.cuda_runtime), needed);
}

GpuProblem driver_too_old(const GpuFindings& findings) {
  GpuProblem text;
  text.failure = findings.failure;
  text.problem =
      fmt::format("the NVIDIA driver{} is too old for CUDA {}", after_space(findings.driver), findings.cuda_runtime);
  text.why =
      fmt::format("it serves CUDA up to {}, {}; {}", findings.cuda_driver, driver_needs(findings), findings.error);
  text.suggestion = fmt::format(
      "Update the driver, put the libraries of NVIDIA's package cuda-compat-{}-{} on LD_LIBRARY_PATH, or build with a "
      "LibTorch for the driver's CUDA (docs/gpu.md).",
      major_of(findings.cuda_runtime), minor_of(findings.cuda_runtime));
  return text;
}

GpuProblem hidden(const GpuFindings& findings) {
  const std::optional<std::string>& visible = findings.visible_devices;
  return {findings.failure, "this process sees no GPU",
          fmt::format("the machine has {}, CUDA_VISIBLE_DEVICES is {}; {}", findings.num_gpus,
                      visible ? fmt::format("'{}'", *visible) : "not set", findings.error),
          "Ask the batch system for GPUs (--gpus-per-node), and check nvidia-smi -L and CUDA_VISIBLE_DEVICES."};
}

/// The loader says "libcudnn.so.9: cannot open shared object file: ...".
GpuProblem library(const GpuFindings& findings) {
  const std::string path = findings.error.substr(0, findings.error.find(':'));
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool is_missing = findings.error.find("cannot open shared object file") != std::string::npos;
  return {
      findings.failure, fmt::format("{} cannot be loaded", name.empty() ? "libtorch_cuda.so" : name), findings.error,
      is_missing ? "Run scripts/setup.sh --gpu (where a package is installed, multicard-setup-libtorch --gpu), which "
                   "puts the CUDA libraries (cuDNN, NCCL, cuBLAS, ...) next to LibTorch, or put the folder that "
                   "holds it on LD_LIBRARY_PATH."
                 : "A library of another version than LibTorch needs is found first: check LD_LIBRARY_PATH and "
                   "LD_PRELOAD, or run scripts/setup.sh --gpu (where a package is installed, "
                   "multicard-setup-libtorch --gpu)."};
}

}  // namespace

std::string driver_needed_for(const std::string& cuda) {
  // NVIDIA's CUDA Toolkit release notes, "CUDA Toolkit and minimum required driver version for minor version
  // compatibility".
  const std::string major = major_of(cuda);
  if (major == "13") return "580";
  if (major == "12") return "525";
  if (major == "11") return "450";
  return "";
}

GpuProblem describe(const GpuFindings& findings) {
  switch (findings.failure) {
    case GpuFailure::not_compiled_in:
      return {findings.failure, "this multicard was built without its GPU path",
              findings.num_gpus > 0
                  ? fmt::format("the machine has {}, driver{}", counted(findings.num_gpus, "NVIDIA GPU"),
                                after_space(findings.driver))
                  : "",
              "Run scripts/setup.sh --gpu and build again: the configuration's last lines say `GPU path 1`, or what is "
              "missing."};
    case GpuFailure::driver_too_old:
      return driver_too_old(findings);
    case GpuFailure::no_driver_library:
      return {findings.failure,
              fmt::format("libcuda.so.1 of the NVIDIA driver{} is not to be found", after_space(findings.driver)),
              fmt::format("the driver's kernel module is loaded; {}; {}", driver_needs(findings), findings.error),
              "Start a container with its GPUs (docker run --gpus all, apptainer --nv), or install the driver's "
              "libraries."};
    case GpuFailure::hidden:
      return hidden(findings);
    case GpuFailure::not_ready:
      return {findings.failure, "the GPUs are not ready", findings.error,
              "On a machine with NVSwitch start nvidia-fabricmanager of the driver's own version."};
    case GpuFailure::driver_mismatch:
      return {findings.failure, "libcuda.so.1 does not fit the driver's kernel module",
              fmt::format("kernel module{}; {}", after_space(findings.driver), findings.error),
              "Reboot after an update of the driver, and look for another libcuda.so.1 on LD_LIBRARY_PATH."};
    case GpuFailure::compat_refused:
      return {findings.failure, "the cuda-compat libraries do not serve this GPU",
              fmt::format("driver{}; {}", after_space(findings.driver), findings.error),
              "Take them off LD_LIBRARY_PATH and update the driver: they serve data-centre GPUs only."};
    case GpuFailure::library:
      return library(findings);
    case GpuFailure::other:
      break;
  }
  return {findings.failure, "the GPUs cannot be used",
          fmt::format("driver{}; {}", after_space(findings.driver), findings.error),
          "Look at nvidia-smi and at the kernel's messages."};
}

}  // namespace multicard
