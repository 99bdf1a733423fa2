#pragma once
/// \file Why the GPUs of a machine cannot be used, in the words of the program's messages.

#include <optional>
#include <string>

namespace multicard {

enum class GpuFailure {
  not_compiled_in,    ///< the machine has GPUs, this build has no GPU path
  driver_too_old,     ///< for the CUDA runtime
  no_driver_library,  ///< the kernel module is loaded, libcuda.so.1 is not to be found
  hidden,             ///< the machine has GPUs, this process sees none
  not_ready,          ///< cudaErrorSystemNotReady: the fabric manager of an NVSwitch machine does not run
  driver_mismatch,    ///< libcuda.so.1 and the kernel module are of different versions
  compat_refused,     ///< the cuda-compat libraries do not serve this GPU
  library,            ///< a library that LibTorch's GPU part needs cannot be loaded
  other               ///< any other error of CUDA
};

/// PROBLEM (WHY) SUGGESTION, the parts of an Error or of a warning.
struct GpuProblem {
  GpuFailure failure = GpuFailure::other;
  std::string problem, why, suggestion;
};

/// What was found out about a failure; texts may be empty where nothing is known.
struct GpuFindings {
  GpuFailure failure = GpuFailure::other;
  std::string error;                           ///< CUDA's or the loader's own words
  std::string driver;                          ///< version of the kernel module, "550.54.15"
  std::string cuda_driver;                     ///< the newest CUDA that the driver serves, "12.4"
  std::string cuda_runtime;                    ///< the CUDA that this program is built with, "13.0"
  int num_gpus = 0;                            ///< of the machine
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES
};

GpuProblem describe(const GpuFindings& findings);

/// The oldest driver branch that serves the CUDA version `cuda` ("13.0": "580"); empty where that is not known.
std::string driver_needed_for(const std::string& cuda);

}  // namespace multicard
