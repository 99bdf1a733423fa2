#pragma once
/// \file Collectives on device tensors over NCCL; for modules/dist only.

#include <memory>

#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Collective. Throws EnvironmentError in a build without CUDA.
std::unique_ptr<TensorCollectives> make_nccl_collectives(const Communicator& communicator, at::Device device);

}  // namespace multicard
