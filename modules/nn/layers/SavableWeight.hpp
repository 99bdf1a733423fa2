#pragma once
/// \file A weight of which adapters may train a copy (PEFT's modules_to_save).

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

namespace multicard {

/// The weight of a module, and the copy that takes its place while adapters are on.
class SavableWeight {
 public:
  SavableWeight() = default;
  SavableWeight(at::Tensor own) : own_(std::move(own)) {}  // NOLINT(google-explicit-constructor): a weight

  /// The weight itself, which is frozen where there is a copy.
  const at::Tensor& own() const { return own_; }
  /// Undefined where there is none.
  const at::Tensor& copy() const { return copy_; }
  const at::Tensor& used(bool uses_adapters) const { return uses_adapters && copy_.defined() ? copy_ : own_; }

  void freeze() { own_.requires_grad_(false); }
  /// Makes a copy in `dtype`, a leaf that requires gradients.
  void save(at::ScalarType dtype) {
    const at::NoGradGuard no_grad;
    copy_ = own_.to(dtype, /*non_blocking=*/false, /*copy=*/true).requires_grad_(true);
  }
  /// Gives the weight the values of the copy, which goes.
  void merge() {
    const at::NoGradGuard no_grad;
    if (copy_.defined()) own_.copy_(copy_);
    copy_.reset();
  }
  /// Gives it memory of its own where it shared that of another.
  void separate() {
    const at::NoGradGuard no_grad;
    own_ = own_.clone();
  }

 private:
  at::Tensor own_, copy_;
};

}  // namespace multicard
