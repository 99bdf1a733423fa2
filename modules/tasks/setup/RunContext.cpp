#include "tasks/setup/RunContext.hpp"

#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "device/Precision.hpp"

namespace multicard {

RunContext::RunContext(const RunOptions& options, const Communicator& communicator)
    : topology_(find_topology(communicator)),
      switches_(switches_for({.num_threads = compute_threads(topology_),
                              .tf32 = options.precision == Precision::tf32 ? Tf32::on : Tf32::off,
                              .is_deterministic = options.run.deterministic})),
      timeout_(communicator, options.run.timeout_s),
      device_(choose(options, communicator)) {}

/// Operations are tried out on the device, as the run will use it.
DeviceChoice RunContext::choose(const RunOptions& options, const Communicator& communicator) const {
  const Current current(*this);
  DeviceChoice choice = choose_device(options.run.device, options.parallel.share_gpu, communicator, topology_);
  agreed(communicator, [&] { check_precision(options.precision, choice.device, choice.gpu); });
  return choice;
}

RunContext::Timeout::Timeout(const Communicator& communicator, double seconds)
    : communicator_(communicator), before_s_(communicator.watchdog() ? communicator.watchdog()->limit() : 0) {
  if (Watchdog* watchdog = communicator_.watchdog()) {
    watchdog->set_limit(seconds);
    // No step yet: a time-out while the run is built must not name a step of the run before it.
    watchdog->set_step(-1);
  }
}

RunContext::Timeout::~Timeout() {
  if (Watchdog* watchdog = communicator_.watchdog()) watchdog->set_limit(before_s_);
}

}  // namespace multicard
