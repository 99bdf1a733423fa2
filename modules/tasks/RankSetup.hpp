#pragma once
/// \file A process made ready to compute as its deck says.

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"
#include "config/RunOptions.hpp"
#include "device/Device.hpp"

namespace multicard {

/// Collective. Chooses this rank's device, sets its arithmetic (run.deterministic, TF32) and the time-out of
/// collectives. `topology` is the communicator's.
/// \throws EnvironmentError on all ranks when a device is missing or cannot compute in the deck's precision
DeviceChoice set_up_rank(const RunOptions& options, const Communicator& communicator, const Topology& topology);

}  // namespace multicard
