#pragma once
/// \file How a run computes: arithmetic and device.

#include "config/DeckKey.hpp"
#include "config/Words.hpp"

namespace multicard {

/// precision of a deck
enum class Precision { fp64, fp32, tf32, fp16, bf16 };
inline constexpr Word<Precision> kPrecisionWords[] = {{"fp64", Precision::fp64},
                                                      {"fp32", Precision::fp32},
                                                      {"tf32", Precision::tf32},
                                                      {"fp16", Precision::fp16},
                                                      {"bf16", Precision::bf16}};

/// run.device
enum class DeviceRequest { automatic, cpu, cuda };
inline constexpr Word<DeviceRequest> kDeviceWords[] = {
    {"auto", DeviceRequest::automatic}, {"cpu", DeviceRequest::cpu}, {"cuda", DeviceRequest::cuda}};

/// parallel.share_gpu: whether several ranks may use one GPU
enum class ShareGpu { no, yes };

/// How a run computes on whichever device a rank gets.
struct ComputeOptions {
  DeviceRequest device = DeviceRequest::automatic;
  bool deterministic = false;  ///< repeatable bit for bit on the same ranks, slower
};

/// \param run the section run
ComputeOptions read_compute_options(Section& run);

/// The rows of the keys whose values this module defines.
DeckKeys compute_keys();

}  // namespace multicard
