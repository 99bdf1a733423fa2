#pragma once
/// \file Steps of AdamW whose moments have 8 bits, as bitsandbytes' block-wise optimizers (Dettmers et al. 2022, arXiv
/// 2110.02861). Formulas are those of kernels/AdamwFormula.hpp; CPUs and GPUs give the same bits.

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "kernels/AdamwFactors.hpp"

namespace multicard {

struct AdamwStep {
  AdamwFactors factors;  ///< `rate` and `correction` are in `rates`
  at::Tensor rates;      ///< float32 [2]: those two, on the device, which alone knows how many steps there have been
  at::Tensor found_inf;  ///< float32 [1], on the device: nothing changes where it is not 0; undefined: 0
  at::Tensor maps;       ///< dynamic_maps_on() the device
};

/// The moments of a tensor of values, in its shape: codes of a DynamicMap with a scale for each 256 of them in
/// row-major order, or float32.
struct Moments {
  at::Tensor values;  ///< uint8 or float32
  at::Tensor scales;  ///< float32 [ceil(elements / 256)]: the largest magnitudes; undefined with float32

  bool are_codes() const { return scales.defined(); }
};

enum class MomentBits { eight, thirty_two };
/// Zeros, in the shape and on the device of `values`.
Moments zero_moments(const at::Tensor& values, MomentBits bits);
/// The maps of first and of second moments as the kernels of `device` read them: bytes of two DynamicMaps.
at::Tensor dynamic_maps_on(at::Device device);

/// Values and their gradient are contiguous, float32, float64, bfloat16 or float16, and of one type and shape; both
/// moments are of the same kind.
struct AdamwTensor {
  at::Tensor values, gradient;
  Moments first, second;
};

/// One step of tensors on one device. Moments are computed in float32, values in float32 or float64.
void adamw_step(std::span<const AdamwTensor> tensors, const AdamwStep& step);

}  // namespace multicard
