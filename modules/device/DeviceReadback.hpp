#pragma once
/// \file The Readback of a GPU; for modules/device only.

#include <memory>

#include "device/Readback.hpp"

namespace multicard {

/// Throws EnvironmentError in a build without CUDA.
std::unique_ptr<Readback> make_device_readback(at::Device device);

}  // namespace multicard
