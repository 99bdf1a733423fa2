#include "tasks/setup/RunContext.hpp"

#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "device/Precision.hpp"

namespace multicard {

RunContext::RunContext(const RunOptions& options, const Communicator& communicator, const Topology& topology)
    : communicator_(communicator),
      timeout_before_s_(communicator.watchdog() ? communicator.watchdog()->limit() : 0),
      switches_(switches_for({.num_threads = compute_threads(std::nullopt, topology),
                              .tf32 = options.precision == Precision::tf32 ? Tf32::on : Tf32::off,
                              .is_deterministic = options.run.deterministic})) {
  if (Watchdog* watchdog = communicator_.watchdog()) {
    watchdog->set_limit(options.run.timeout_s);
    // No step yet: a time-out while the run is built must not name a step of the run before it.
    watchdog->set_step(-1);
  }
}

RunContext::~RunContext() {
  if (Watchdog* watchdog = communicator_.watchdog()) watchdog->set_limit(timeout_before_s_);
}

DeviceChoice set_up_device(const RunOptions& options, const Communicator& communicator, const Topology& topology) {
  DeviceChoice choice = choose_device(options.run.device, options.parallel.share_gpu, communicator, topology);
  agreed(communicator, [&] { check_precision(options.precision, choice.device, choice.gpu); });
  return choice;
}

}  // namespace multicard
