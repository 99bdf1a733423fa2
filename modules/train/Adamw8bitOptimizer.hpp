#pragma once
/// \file AdamW with moments of 8 bits (Dettmers et al. 2022, arXiv 2110.02861).

#include "kernels/Adamw.hpp"
#include "train/AdamOptimizer.hpp"

namespace multicard {

/// bitsandbytes' AdamW8bit: the moments of a parameter are 8-bit codes with a scale for each 256 of them, in row-major
/// order; those of a parameter below 4096 elements are float32.
class Adamw8bitOptimizer final : public AdamOptimizer {
 public:
  Adamw8bitOptimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated);

  void step(double learning_rate, const at::Tensor& found_inf = {}) override;
  /// `exp_avg.NAME` and `exp_avg_sq.NAME`, uint8 with `exp_avg_scale.NAME` and `exp_avg_sq_scale.NAME` float32
  /// [ceil(elements / 256)], or float32; and the 0-dim float32 `step`.
  NamedTensors state() const override;

  /// What it holds for a parameter, in memory.
  static std::int64_t state_bytes(std::int64_t elements);

 private:
  /// float32 [2] on the device, for the step that num_steps() counts.
  at::Tensor rates(double learning_rate) const;

  std::vector<Moments> first_, second_;
  at::Tensor maps_;
};

}  // namespace multicard
