#pragma once
/// \file How much memory a run will take, before it takes it.

#include <cstdint>
#include <string>

namespace multicard {

/// Bytes of one rank.
struct MemoryNeed {
  std::int64_t parameters = 0, gradients = 0, optimizer = 0;  ///< of what is trained
  std::int64_t activations = 0;                               ///< kept from forward to backward
  std::int64_t loader = 0;                                    ///< batches in the making, in host memory
  std::int64_t average = 0;  ///< the moving average of the weights, and the weights while it is in their place
  std::int64_t frozen = 0;   ///< weights that are not trained

  /// What a GPU must hold.
  std::int64_t on_device() const { return parameters + frozen + gradients + optimizer + average + activations; }
  std::int64_t total() const { return on_device() + loader; }
  /// "1.1 GB a rank (weights 9 MB, gradients 9 MB, optimizer 9 MB, activations 980 MB, loader 40 MB)"
  std::string text() const;
};

/// \throws EnvironmentError when `needed` bytes are more than `available`.
void check_memory(const MemoryNeed& need, std::int64_t needed, std::int64_t available);

}  // namespace multicard
