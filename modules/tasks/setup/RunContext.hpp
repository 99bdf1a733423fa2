#pragma once
/// \file How a run computes on its rank: the device, and the switches of the process that are the run's while it works.

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"
#include "device/Device.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// What a run needs the process to be set to: threads of an operation, TF32, determinism. LibTorch has these once for a
/// whole process, so a run has them only while it works: a `Current` sets them and its end sets them back. Several runs
/// on one rank can so work in turn, in any order, each by its own deck.
///
/// The time-out of collectives belongs to the run's communicator, which is the run's alone: it holds for the life of
/// the context, also for what is exchanged about the run between its steps. Peaks of memory stay the process': a run
/// resets them when it is built.
class RunContext {
 public:
  /// Collective. \throws EnvironmentError on all ranks when a device is missing or cannot compute in the deck's
  /// precision
  RunContext(const RunOptions& options, const Communicator& communicator);

  const Topology& topology() const { return topology_; }
  const DeviceChoice& device() const { return device_; }
  int num_threads() const { return switches_.num_threads; }

  /// While one exists, the process computes as the context says. They nest.
  class Current {
   public:
    explicit Current(const RunContext& context) : before_(compute_switches()) {
      set_compute_switches(context.switches_);
    }
    ~Current() { set_compute_switches(before_); }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    ComputeSwitches before_;
  };

 private:
  class Timeout {
   public:
    Timeout(const Communicator& communicator, double seconds);
    ~Timeout();
    Timeout(const Timeout&) = delete;
    Timeout& operator=(const Timeout&) = delete;

   private:
    Communicator communicator_;
    double before_s_;
  };

  DeviceChoice choose(const RunOptions& options, const Communicator& communicator) const;

  Topology topology_;
  ComputeSwitches switches_;
  Timeout timeout_;
  DeviceChoice device_;  ///< chosen under the switches and the time-out
};

}  // namespace multicard
