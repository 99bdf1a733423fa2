#pragma once
/// \file What the forms of AdamW have in common.

#include <utility>
#include <vector>

#include <ATen/ops/zeros.h>

#include "train/Optimizer.hpp"

namespace multicard {

/// Its factors, and a count of updates on the device, which alone knows those that were left out.
class AdamOptimizer : public Optimizer {
 protected:
  AdamOptimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated)
      : Optimizer(options, updated),
        beta1_(options.beta1),
        beta2_(options.beta2),
        eps_(options.eps),
        num_steps_(at::zeros({}, tensor_options().dtype(at::kFloat))) {}

  double beta1() const { return beta1_; }
  double beta2() const { return beta2_; }
  double eps() const { return eps_; }
  /// 0-dim float32: updates so far.
  const at::Tensor& num_steps() const { return num_steps_; }

 private:
  double beta1_, beta2_, eps_;
  at::Tensor num_steps_;
};

}  // namespace multicard
