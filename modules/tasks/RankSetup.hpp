#pragma once
/// \file A process made ready to compute as its deck says.

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"
#include "device/Device.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

/// Collective. Chooses this rank's device, to be used under ComputeSettings, and sets the time-out of collectives.
/// `topology` is the communicator's. \throws EnvironmentError on all ranks when a device is missing or cannot compute
/// in the deck's precision
DeviceChoice set_up_rank(const RunOptions& options, const Communicator& communicator, const Topology& topology);

/// The switches of the process that say how it computes: threads, TF32, determinism. They are as the deck says while
/// one exists, and then again what they were.
class ComputeSettings {
 public:
  /// Collective over the node.
  ComputeSettings(const RunOptions& options, const Topology& topology);
  ~ComputeSettings();
  ComputeSettings(const ComputeSettings&) = delete;
  ComputeSettings& operator=(const ComputeSettings&) = delete;

  int num_threads() const { return num_threads_; }

 private:
  int threads_before_;
  Tf32 tf32_before_;
  bool was_deterministic_;
  int num_threads_;
};

}  // namespace multicard
