#pragma once
/// \file What the ranks reduce about a step, in one small all-reduce.

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

namespace multicard {

/// Sums over ranks: the fields, then sums that a model has named (Model::sums). What all ranks know already (the
/// gradient's norm, once gradients are summed) rank 0 alone puts in.
class StepStatus {
 public:
  enum Field : std::int64_t { kLoss, kStop, kCheckpoint, kWriting, kGradientNorm, kFoundInf, kNumFields };

  StepStatus() = default;
  /// All zero, on `device`.
  explicit StepStatus(at::Device device, std::int64_t num_sums = 0)
      : values_(at::zeros({kNumFields + num_sums}, at::TensorOptions().dtype(at::kDouble).device(device))) {}

  at::Tensor operator[](Field field) const { return values_[field]; }
  at::Tensor sum(std::int64_t number) const { return values_[kNumFields + number]; }
  /// float64 [kNumFields + num_sums]
  const at::Tensor& values() const { return values_; }

 private:
  at::Tensor values_;
};

}  // namespace multicard
