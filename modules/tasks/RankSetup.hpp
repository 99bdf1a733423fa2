#pragma once
/// \file A process made ready to compute as its deck says.

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"
#include "device/Device.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

/// The switches of the process that say how it computes (threads, TF32, determinism) and the time-out of collectives on
/// a communicator. They are as the deck says while one exists, and then again what they were. Peaks of memory are no
/// switches: each run resets them when it starts (reset_peaks()), and they are not read across runs.
class ComputeSettings {
 public:
  /// Collective over the node. `topology` is the communicator's.
  ComputeSettings(const RunOptions& options, const Communicator& communicator, const Topology& topology);
  ~ComputeSettings();
  ComputeSettings(const ComputeSettings&) = delete;
  ComputeSettings& operator=(const ComputeSettings&) = delete;

  int num_threads() const { return num_threads_; }

 private:
  Communicator communicator_;
  double timeout_before_s_;
  ComputeSwitches before_;
  int num_threads_;
};

/// Collective. Chooses this rank's device, under ComputeSettings. `topology` is the communicator's. \throws
/// EnvironmentError on all ranks when a device is missing or cannot compute in the deck's precision
DeviceChoice set_up_device(const RunOptions& options, const Communicator& communicator, const Topology& topology);

}  // namespace multicard
