#pragma once
/// \file Copies of a checkpoint's tensors in host memory.

#include <optional>

#include <c10/core/Event.h>

#include "train/CheckpointStore.hpp"

namespace multicard {

/// Host buffers that are filled again and again, page-locked for tensors of a GPU. One thread fills them, then another
/// may read them until they are filled anew.
class HostSnapshot {
 public:
  /// Makes buffers for tensors like these, touched so that the first copy is as fast as the others.
  void prepare(const CheckpointParts& parts);
  /// Copies the tensors. Those of a GPU are queued on its current stream: the host does not wait, and later work of
  /// that stream may change the tensors.
  void take(const CheckpointParts& parts);
  /// The copies, after waiting for the device. They have the strides of the originals.
  const CheckpointParts& wait();

 private:
  bool fits(const CheckpointParts& parts) const;

  CheckpointParts copies_;
  std::optional<at::Device> device_;  ///< of the copies under way
  std::optional<c10::Event> copied_;
};

}  // namespace multicard
