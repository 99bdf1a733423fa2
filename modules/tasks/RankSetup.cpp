#include "tasks/RankSetup.hpp"

#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "device/Precision.hpp"

namespace multicard {

DeviceChoice set_up_rank(const RunOptions& options, const Communicator& communicator, const Topology& topology) {
  if (Watchdog* watchdog = communicator.watchdog()) watchdog->set_limit(options.run.timeout_s);
  const ShareGpu share = options.parallel.share_gpu ? ShareGpu::yes : ShareGpu::no;
  const DeviceChoice choice = choose_device(device_request(options.run.device), share, communicator, topology);
  const Precision precision = precision_from(options.precision);
  agreed(communicator, [&] { check_precision(precision, choice.device, choice.gpu); });
  set_tf32(precision == Precision::tf32 ? Tf32::on : Tf32::off);
  set_deterministic(options.run.deterministic);
  return choice;
}

}  // namespace multicard
