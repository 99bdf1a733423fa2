#pragma once
/// \file Low-rank compression of gradients with error feedback; for modules/dist and its tests only.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/GradientCompression.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// The gradient as a matrix [size(0), rest], without a copy: its columns are in the order of memory. None where it has
/// no such view.
std::optional<at::Tensor> matrix_of(const at::Tensor& gradient);
/// Whether PowerSGD sends factors of rank `rank` instead of the gradient: where (n + m) rank elements are less than
/// half of n m, as min_compression_rate = 2 of torch's hook.
bool is_compressed(const at::Tensor& gradient, std::int64_t rank);
/// The matrix [sizes(1...), rank] that Q of the parameter of that number begins with: from torch's generator for CPUs,
/// seeded with the number, in float64. The same on all ranks and devices, for all types, buckets and memory formats.
at::Tensor initial_q(const at::Tensor& gradient, std::int64_t rank, std::size_t number);

/// PowerSGD (Vogels et al. 2019, arXiv 1905.13727, algorithms 1 and 2) as powerSGD_hook of
/// torch.distributed.algorithms.ddp_comm_hooks computes it, with warm start and error feedback, bucket by bucket. M is
/// the sum over ranks of the gradients and of the errors:
///
///     P = M Q, summed over ranks; P is made orthonormal
///     Q = M^T P, summed over ranks
///     gradient = P Q^T; error = M - gradient
///
/// What is not compressed is sent along with P. Each rank holds the number of ranks times its part of the error; the
/// sum over ranks is what counts, so that results do not depend on how it is spread: with the mean on each rank, every
/// rank has the sum of the parts, which is what checkpoints hold.
class PowerSgd {
 public:
  struct Member {
    std::size_t number = 0;  ///< of its parameter
    at::Tensor gradient;     ///< view of the bucket's flat buffer
  };
  struct Bucket {
    at::Tensor flat;
    std::vector<Member> members;
  };

  /// Collective.
  PowerSgd(const std::vector<Bucket>& buckets, TensorCollectives& collectives, const CompressionOptions& options);
  ~PowerSgd();
  PowerSgd(const PowerSgd&) = delete;
  PowerSgd& operator=(const PowerSgd&) = delete;

  /// \param scale what gradients of this step are multiplied by, 0-dim on their device; undefined: 1
  void begin_step(std::int64_t step, const at::Tensor& scale);
  /// Collective. Starts to sum P of the bucket, whose gradients are complete. False: it is not compressed (at this
  /// step), and nothing has started.
  bool start(std::size_t bucket, CommDtype comm_dtype);
  /// Collective. Waits until the gradients of all buckets that were started are what all ranks receive.
  void finish();
  /// Takes back what the step changed here if `found_inf` (a one-element tensor on the device) is not 0; only where
  /// the step had a scale.
  void settle(const at::Tensor& found_inf);
  /// Collective. Spreads the error evenly over ranks.
  void spread_error();

  /// For checkpoints and to be written into, of the compressed parameters in the order of buckets.
  std::vector<CompressionState> state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace multicard
