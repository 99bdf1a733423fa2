#pragma once
/// \file How synchronised batch normalisation reduces over the other replicas, without this module knowing a
/// communicator.

#include <ATen/core/Tensor.h>

namespace multicard {

/// Sums over all replicas. A layer calls it once in forward and once in backward, in the same order on every replica,
/// also where a replica holds no rows.
class StatisticsReducer {
 public:
  virtual ~StatisticsReducer() = default;
  virtual int num_replicas() const = 0;
  /// The number of this one, from 0.
  virtual int replica() const = 0;
  /// Collective. Replaces `flat` (1-D, float32 or float64, contiguous, on the network's device, a few thousand values
  /// for each replica at most) by its sum over all replicas.
  virtual void all_reduce(at::Tensor& flat) = 0;
};

}  // namespace multicard
