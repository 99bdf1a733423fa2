#pragma once
/// \file What a GPU can compute.

#include <c10/core/Device.h>

namespace multicard {

/// The first number of the compute capability of `device`, a GPU: 8 for Ampere, 9 for Hopper.
int compute_major_of(c10::Device device);

}  // namespace multicard
