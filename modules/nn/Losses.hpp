#pragma once
/// \file Losses and scores of classification.

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Softmax cross-entropy of logits [N, classes] against labels int64 [N], summed over rows and divided by
/// `global_rows` (> 0), the number of rows over all replicas: losses and gradients of replicas then add up to the mean.
/// 0-dimensional, at least float32; zero (with zero gradients) for N = 0.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, std::int64_t global_rows);

/// Number of rows whose largest logit is the label's: 0-dimensional int64 on the device of the logits.
at::Tensor num_correct(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace multicard
