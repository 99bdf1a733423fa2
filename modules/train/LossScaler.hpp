#pragma once
/// \file Dynamic loss scaling for float16 (Micikevicius et al. 2018, arXiv 1710.03740), as torch.amp.GradScaler.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Multiplies the loss so that small gradients survive float16, and takes the factor out of the gradients again. When a
/// gradient is not finite the update is skipped and the scale halves; after 2000 updates in a row it doubles. Nothing
/// here waits for the device.
///
/// All ranks hold equal scales: the ranks that see the summed gradients report what they found to the others (see
/// Trainer::update_and_sum).
class LossScaler {
 public:
  static constexpr double kStart = 65536;
  static constexpr std::int64_t kGrowthInterval = 2000;
  /// Below this scale the gradients are not finite for another reason than their scale.
  static constexpr double kLeast = 1.0 / 65536;

  explicit LossScaler(at::Device device);

  at::Tensor scale(const at::Tensor& loss) const { return loss.mul(scale_); }
  /// Divides the gradients by the scale, in place. Returns found_inf: a 0-dim float32 tensor that is 1 when one of them
  /// is not finite, else 0.
  at::Tensor unscale(const std::vector<at::Tensor>& gradients) const;
  /// Adapts the scale to what was found, a one-element float32 tensor that is 0 or not.
  void update(const at::Tensor& found_inf);

  /// The factor now, 0-dim float32 on the device; changes with update().
  const at::Tensor& factor() const { return scale_; }

  /// \name For checkpoints: waits for the device
  /// @{
  double value() const { return scale_.item<double>(); }
  std::int64_t updates_since_change() const { return growth_tracker_.item<std::int64_t>(); }
  void restore(double value, std::int64_t updates_since_change);
  /// @}

 private:
  at::Tensor scale_, growth_tracker_;
};

}  // namespace multicard
