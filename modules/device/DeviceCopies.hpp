#pragma once
/// \file What is copied from one place of a GPU's memory to another.

#include <cstdint>

namespace multicard {

/// Bytes that cudaMemcpy and its variants, called by LibTorch and the program, copied from device to device since the
/// process started; what a kernel reads and writes is not among them. 0 in a build without CUDA.
std::int64_t bytes_copied_within_devices();

}  // namespace multicard
