#include "tasks/RankSetup.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "device/Precision.hpp"

namespace multicard {

DeviceChoice set_up_rank(const RunOptions& options, const Communicator& communicator, const Topology& topology) {
  if (Watchdog* watchdog = communicator.watchdog()) {
    watchdog->set_limit(options.run.timeout_s);
    watchdog->set_step(-1);
  }
  DeviceChoice choice = choose_device(options.run.device, options.parallel.share_gpu, communicator, topology);
  agreed(communicator, [&] { check_precision(options.precision, choice.device, choice.gpu); });
  return choice;
}

ComputeSettings::ComputeSettings(const RunOptions& options, const Topology& topology)
    : threads_before_(at::get_num_threads()),
      tf32_before_(tf32()),
      was_deterministic_(is_deterministic()),
      num_threads_(set_compute_threads(std::nullopt, topology)) {
  set_tf32(options.precision == Precision::tf32 ? Tf32::on : Tf32::off);
  set_deterministic(options.run.deterministic);
}

ComputeSettings::~ComputeSettings() {
  at::set_num_threads(threads_before_);
  set_tf32(tf32_before_);
  set_deterministic(was_deterministic_);
}

}  // namespace multicard
