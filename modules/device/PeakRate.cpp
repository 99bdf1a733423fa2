#include "device/PeakRate.hpp"

#include <array>

namespace multicard {

namespace {

/// Dense rates in TFLOP/s; 0: not stated.
struct PeakRates {
  const char* name;  ///< a part of the name that the driver gives; of two that fit, the first
  double half;       ///< fp16 and bf16, accumulated in float32
  double tf32, fp32, fp64;
};

// Longer names before those that they contain: GH200 before H200, H100 PCIe before H100, A100 before A10, L40S before
// L40 before L4. Rates are dense: data sheets often print those with structured sparsity, twice as much.
constexpr std::array kPeakRates{
    PeakRates{"GH200", 989, 494.7, 67, 67},      PeakRates{"H200", 989, 494.7, 67, 67},
    PeakRates{"H100 PCIe", 756, 378, 51, 51},    PeakRates{"H100 NVL", 835, 417, 60, 60},
    PeakRates{"H100", 989, 494.7, 67, 67},       PeakRates{"B200", 2250, 1100, 75, 37},
    PeakRates{"A100", 312, 156, 19.5, 19.5},     PeakRates{"A30", 165, 82, 10.3, 10.3},
    PeakRates{"A40", 149.7, 74.8, 37.4, 0},      PeakRates{"A10", 125, 62.5, 31.2, 0},
    PeakRates{"L40S", 362, 183, 91.6, 0},        PeakRates{"L40", 181, 90.5, 90.5, 0},
    PeakRates{"L4", 121, 60, 30.3, 0},           PeakRates{"V100", 125, 0, 15.7, 7.8},
    PeakRates{"RTX 4090", 165.2, 82.6, 82.6, 0}, PeakRates{"RTX 3090", 71, 35.6, 35.6, 0},
};

}  // namespace

std::optional<double> peak_flops_per_s(const std::string& device_name, Precision precision) {
  for (const PeakRates& device : kPeakRates) {
    if (device_name.find(device.name) == std::string::npos) continue;
    double rate = device.half;
    if (precision == Precision::tf32) rate = device.tf32;
    if (precision == Precision::fp32) rate = device.fp32;
    if (precision == Precision::fp64) rate = device.fp64;
    // No rate rather than a guess where the maker states none: a share of a wrong peak would look like a measurement.
    return rate > 0 ? std::optional(rate * 1e12) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace multicard
