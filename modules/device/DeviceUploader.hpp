#pragma once
/// \file The BatchUploader of a GPU; for modules/device only.

#include <memory>

#include "device/BatchUploader.hpp"

namespace multicard {

/// Throws EnvironmentError in a build without CUDA.
std::unique_ptr<BatchUploader> make_device_uploader(at::Device device);

}  // namespace multicard
