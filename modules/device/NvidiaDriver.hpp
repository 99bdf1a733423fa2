#pragma once
/// \file What the NVIDIA driver's kernel module says of this machine, whether or not CUDA can use it. Read from
/// /proc/driver/nvidia, or from the folder that MULTICARD_NVIDIA_PROC names (for tests).

#include <string>

namespace multicard {

/// "580.65.06"; empty where the module is not loaded.
std::string nvidia_driver_version();

/// GPUs of the machine, also those that are hidden from this process; 0 where the module is not loaded.
int num_gpus_of_machine();

/// The version in a line like "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ...": its first
/// word that begins with a digit and has a dot. Empty when there is none.
std::string driver_version_in(const std::string& line);

}  // namespace multicard
