#pragma once
/// \file How much memory a run will take, before it takes it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/Error.hpp"
#include "device/AllocationTrace.hpp"

namespace multicard {

/// Bytes of one rank.
struct MemoryEstimate {
  std::int64_t parameters = 0, gradients = 0, optimizer = 0;  ///< of what is trained
  std::int64_t activations = 0;                               ///< what forward has made, when the most is held
  std::int64_t loader = 0;                                    ///< batches being prepared, in host memory
  std::int64_t average = 0;                                   ///< the moving average of the weights
  std::int64_t frozen = 0;                                    ///< weights that are not trained
  std::int64_t batches = 0;                                   ///< inputs on the compute device
  std::int64_t other = 0;          ///< buffers of the model and what libraries keep on the device
  std::int64_t copies = 0;         ///< of a checkpoint being written, in host memory
  std::int64_t gaps = 0;           ///< kept free for those between a GPU's blocks
  std::int64_t logits = 0;         ///< of the loss, when the most is held
  std::int64_t workspace = 0;      ///< what backward has made, when the most is held; or the update, if that is more
  std::int64_t reference = 0;      ///< a second, frozen network
  std::int64_t communication = 0;  ///< gradients in another type on their way between ranks
  std::int64_t compression = 0;    ///< error and factors of compressed gradients
  std::int64_t evaluation = 0;     ///< by how much evaluation of the test set exceeds a step
  std::int64_t answers = 0;        ///< by how much answers of the model exceed both
  std::int64_t whole_copies = 0;   ///< of `copies`, those that no other rank has: of tensors that are not split

  /// What forward, loss and backward, or the update, evaluation or answering hold at most in addition to the rest.
  std::int64_t work() const { return activations + logits + workspace + evaluation + answers; }
  void set_work(const StageBytes& most);
  /// What a GPU must hold.
  std::int64_t on_device() const {
    return parameters + frozen + reference + gradients + optimizer + average + work() + batches + other +
           communication + compression + gaps;
  }
  std::int64_t total() const { return on_device() + loader + copies; }
  /// "1.1 GB per rank (weights 9 MB, gradients 9 MB, optimizer 9 MB, activations 980 MB, loader 40 MB)"
  std::string text() const;
};

/// A GPU's memory fragments: some of it cannot be used.
enum class MemoryGaps {
  warn,    ///< what fits only without gaps is tried, with a warning
  reserve  ///< it does not fit
};

/// What must be kept free of `bytes` on a GPU so that gaps between blocks do not end a run; measured up to 7 %.
std::int64_t gaps_between(std::int64_t bytes);
/// A GPU's allocator gives blocks of up to 1 MiB more than what is asked for; measured up to 2.2 %.
StageBytes with_rounding(StageBytes bytes);

/// The largest of 1 ... most for which `fits`, which holds up to some number; 0 for none.
std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits);
/// The divisors of a number >= 1, in ascending order.
std::vector<std::int64_t> divisors_of(std::int64_t number);

/// That a run needs more than the `available` bytes, and what to do: `micro_batch` is the largest that fits, 0 for
/// none.
EnvironmentError out_of_memory_error(const MemoryEstimate& estimate, std::int64_t available, std::int64_t micro_batch);

/// Whether it says that a device or a rank has too little memory for a run.
bool is_out_of_memory(const Error& error);

}  // namespace multicard
