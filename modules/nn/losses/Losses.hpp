#pragma once
/// \file Losses and scores of classification.

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Softmax cross-entropy of logits [N, classes] against labels int64 [N], summed over rows and divided by
/// `global_rows` (> 0), the number of rows over all replicas: losses and gradients of replicas then add up to the mean.
/// 0-dimensional, at least float32; zero (with zero gradients) for N = 0.
///
/// With `label_smoothing` s in [0, 1] the target of each row is (1 - s) at its label plus s / classes everywhere, as in
/// torch.nn.CrossEntropyLoss (Szegedy et al. 2015, arXiv 1512.00567).
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, std::int64_t global_rows,
                         double label_smoothing = 0.0);

/// Number of rows whose largest logit is the label's: 0-dimensional int64 on the device of the logits.
at::Tensor num_correct(const at::Tensor& logits, const at::Tensor& labels);

/// Number of rows whose label has one of the `k` largest logits (k >= 1): 0-dimensional int64 on the device of the
/// logits. Of equal logits those of lower classes go first, a NaN goes before every number, and a label whose own logit
/// is NaN is wrong; but all rows are correct when there are no more than k classes.
at::Tensor num_correct_in_top(const at::Tensor& logits, const at::Tensor& labels, std::int64_t k);

}  // namespace multicard
