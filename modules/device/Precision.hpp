#pragma once
/// \file The arithmetic of a run: types of tensors, autocast, and what a device can do.

#include <optional>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "device/ComputeOptions.hpp"
#include "device/Gpu.hpp"

namespace multicard {

/// The type of parameters, gradients, moments and network inputs: float64 under fp64, else float32.
at::ScalarType master_type(Precision precision);

/// The type that autocast gives matrix products and convolutions; none where it is master_type().
std::optional<at::ScalarType> autocast_type(Precision precision);

/// Throws EnvironmentError saying what is missing when `device` (a CUDA device is described by `gpu`) cannot compute in
/// `precision`: tf32 needs an NVIDIA GPU of compute capability 8.0, bf16 on a GPU too; on a CPU a convolution and a
/// product of the type are tried out.
void check_precision(Precision precision, at::Device device, const std::optional<GpuInfo>& gpu);

/// While one exists, operations of this thread on the device's type run under autocast (torch's lists decide which),
/// when the precision has an autocast_type(). Casts of weights are kept until the outermost one ends.
class Autocast {
 public:
  Autocast(Precision precision, at::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  at::DeviceType device_;
  bool active_;
  bool enabled_before_ = false;
  at::ScalarType type_before_ = at::ScalarType::Undefined;
};

}  // namespace multicard
