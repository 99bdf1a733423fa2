#pragma once
/// \file Summing gradients over ranks while backward still runs.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/GradientCompression.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// When buckets are summed: as soon as backward has filled them, or all in finish().
enum class Overlap { no, yes };

struct BucketPlan;

/// Who gets the sums: with parts, each rank those of its part of each bucket (BucketPlan). What a rank does not get is
/// unspecified after finish().
enum class Destination { all, root, parts };

/// Turns the gradients of parameters into views of flat buffers, cut into buckets in reverse parameter order
/// (backward's order), and sums the buckets over all ranks. One step:
///
///     reducer.zero();
///     backward(...);                     // all micro-batches but the last
///     reducer.arm();
///     backward(...);                     // buckets start as they fill
///     reducer.finish();                  // gradients hold the sums
///
/// Buckets start in the same order on all ranks whatever the order of backward, and finish() starts those that backward
/// did not reach: a rank with no rows calls arm() and finish() alone, and unused parameters count as zero.
/// Only one reducer may serve a parameter at a time.
class GradientReducer {
 public:
  struct Options {
    /// bucket_mb: most bytes of a bucket / 1e6, in the parameters' type; a larger gradient is a bucket by itself. By
    /// default 1 MiB for the first bucket (its sum overlaps with the rest of backward) and
    /// TensorCollectives::bucket_bytes() for the others, whatever the model, the ranks and the machine.
    /// gradient_dtype: see TensorCollectives.
    ExchangeSetting setting;
    Overlap overlap = Overlap::yes;
    Destination destination = Destination::all;
    /// Without a destination root. P of a bucket is computed and sent where its sum would start, Q in finish().
    CompressionOptions compression = {};
  };

  /// Collective. `parameters` are leaves of float32, float64 or bfloat16 that require gradients, equal on all ranks;
  /// their present gradients are dropped. Each gradient has its parameter's type and strides (channels_last stays so).
  /// Throws UsageError on all ranks for float64 parameters with a communication dtype other than same, and for bfloat16
  /// ones with fp16.
  GradientReducer(std::vector<at::Tensor> parameters, TensorCollectives& collectives, Options options);
  /// Not collective. Gradients stay valid.
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Cuts other buckets and changes their communication dtype; gradients stay where they are. All ranks call it
  /// between the same two steps with equal settings. \throws UsageError as the constructor
  void set(const ExchangeSetting& setting);

  /// Calls zero(). \param scale the factor of this step's loss, 0-dim on the device of the gradients; undefined: 1
  void begin_step(std::int64_t step, const at::Tensor& scale = {});
  /// Sets all gradients to zero. Gradients must never be reset (set to none) while the reducer lives.
  void zero();
  /// The next backward is the last of this step. Backwards that are not armed only add to the gradients.
  void arm();
  /// Collective. Waits until all gradients are summed (device tensors: the current stream waits). Returns the seconds
  /// the host waited. Works without arm() too.
  double finish();

  /// After a step with a scale that is left out if `found_inf`, a one-element tensor on the device, is not 0: what
  /// compression carries to the next step is then that of before. Undefined: nothing is left out.
  void settle(const at::Tensor& found_inf);
  /// Collective. Before compression_state() is saved: its errors become the sums over ranks, which changes later sums
  /// by rounding only.
  void spread_error();
  /// For checkpoints and to be written into; none without compression.
  std::vector<CompressionState> compression_state() const;

  /// Of the parameters, in their order.
  const std::vector<at::Tensor>& gradients() const;
  /// Where the gradients are in flats(), in the order of their types.
  const BucketPlan& plan() const;
  /// The buffers that hold all gradients, one for each type; gaps between gradients are zero.
  const std::vector<at::Tensor>& flats() const;
  std::size_t num_buckets() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace multicard
