#pragma once
/// \file Names of calls of the CUDA runtime that Kineto does not know.

#include <cstdint>
#include <string_view>

namespace multicard {

/// Whether Kineto had no name for the call.
inline bool has_no_name(std::string_view name) {
  return name == "INVALID";
}

/// The public name of a call. Kineto of LibTorch 2.11 has names for calls of CUDA up to 12.0; programs of CUDA 13
/// launch kernels by numbers 505 and 506 (CUPTI_RUNTIME_TRACE_CBID of __cudaLaunchKernel and its per-thread stream
/// variant), which later versions name so. \param callback the number of the call; -1 where it is not known
inline std::string_view api_name(std::string_view name, std::int64_t callback) {
  const bool launches = callback == 505 || callback == 506;
  if ((launches && has_no_name(name)) || name == "__cudaLaunchKernel" || name == "__cudaLaunchKernel_ptsz")
    return "cudaLaunchKernel";
  return name;
}

}  // namespace multicard
