#pragma once
/// \file Copies of a checkpoint's tensors in host memory.

#include <cstdint>
#include <optional>
#include <vector>

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include "state/CheckpointParts.hpp"
#include "state/CheckpointStore.hpp"

namespace multicard {

/// Host memory for the tensors and pieces of a checkpoint that have memory, filled again and again, page-locked for
/// tensors of a GPU. One thread fills it, then another may read it until it is filled again.
///
/// Copies from a GPU run on a stream of their own, during the forward and backward of the next step; only what changes
/// the tensors has to wait for them:
///
///     snapshot.take(parts, buffers);   // after an update
///     ...                              // forward and backward
///     snapshot.let_change();
///     optimizer.step(...);
class HostSnapshot {
 public:
  /// Makes memory for tensors like these.
  void prepare(const CheckpointParts& parts);
  /// Copies the tensors. Those of a GPU are queued after the work of its current stream; the host does not
  /// wait. \param at_once those of them that may change before let_change(): later work of the stream comes after
  /// their copies. Running statistics, say, which the next forward updates; better small.
  void take(const CheckpointParts& parts, const std::vector<at::Tensor>& at_once = {});
  /// Work that the current stream is given from now on comes after the copies. The host does not wait.
  void let_change();
  /// The copies, after waiting for the device. They have the strides of the originals.
  const CheckpointParts& wait();
  /// Whether or not they are filled yet, for names and sizes.
  const CheckpointParts& copies() const { return copies_; }
  /// Of host memory.
  std::int64_t num_bytes() const { return memory_.defined() ? memory_.numel() : 0; }

 private:
  bool fits(const CheckpointParts& parts) const;
  /// The stream of the copies; they come after the work queued on the current stream of `device`.
  c10::Stream copy_stream(at::Device device);

  at::Tensor memory_;  ///< of all copies
  CheckpointParts copies_;
  std::optional<c10::Stream> stream_;
  std::optional<c10::Event> copied_;  ///< on a GPU: the copies under way
  bool holds_ = false;                ///< let_change() has not been called since
};

}  // namespace multicard
