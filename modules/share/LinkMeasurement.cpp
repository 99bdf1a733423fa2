#include "share/LinkMeasurement.hpp"

#include <algorithm>
#include <array>

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "base/Quantiles.hpp"
#include "base/Text.hpp"
#include "device/Memory.hpp"
#include "dist/TensorCollectives.hpp"
#include "scheduling/model/LinkCalibration.hpp"

namespace multicard {

namespace {

constexpr int kWarmUps = 2, kRounds = 7;
// From sizes where latency is all of the time to sizes where bandwidth is most of it (16 kB to 4 MB): the fit must be
// able to separate the two.
constexpr std::array<std::int64_t, 4> kValues{1 << 12, 1 << 15, 1 << 18, 1 << 20};  ///< float32

/// Collective over `ranks`. Median seconds of an all-reduce, each time of the slowest rank.
double all_reduce_s(TensorCollectives& collectives, const Communicator& ranks, std::int64_t num_values) {
  const at::Tensor flat = collectives.allocate_flat(num_values, at::kFloat);
  std::vector<double> seconds;
  for (int round = 0; round < kWarmUps + kRounds; ++round) {
    flat.sum().item<float>();  // waits for the device
    ranks.barrier();
    const TimePoint start = SteadyClock::now();
    collectives.start_all_reduce(flat, {})->wait();
    flat[0].item<float>();
    // After a barrier, so that no rank counts the time that it waited for others to begin.
    const double slowest = ranks.allreduce(seconds_since(start), ReduceOp::max);
    if (round >= kWarmUps) seconds.push_back(slowest);
  }
  return median(seconds);
}

/// Collective over `ranks`, which are on `nodes` nodes with `per_node` of them on the fullest.
void add_observations(const Communicator& ranks, int nodes, int per_node, at::Device device,
                      std::vector<StepObservation>& observations) {
  const auto collectives = make_collectives(Backend::automatic, ranks, device);
  for (const std::int64_t values : kValues) {
    StepPoint at;
    at.gpus = ranks.size();
    at.nodes = nodes;
    at.max_per_node = per_node;
    at.volume = static_cast<double>(values * 4);
    observations.push_back({at, all_reduce_s(*collectives, ranks, values)});
  }
}

void log_links(const std::vector<StepObservation>& observations) {
  const StepObservation &shortest = observations.front(), &longest = observations[kValues.size() - 1];
  // Bandwidth as NCCL's tests define it for a bus: each rank of a ring sends and receives 2 (n - 1) / n of the volume.
  log_info(fmt::format("{:<10}all-reduce over {}: {:.3g} ms for {:.0f} kB, {:.3g} GB/s for {:.1f} MB", "links",
                       counted(longest.at.gpus, "rank"), 1e3 * shortest.seconds, shortest.at.volume / 1e3,
                       2.0 * (longest.at.gpus - 1) / longest.at.gpus * longest.at.volume / longest.seconds / 1e9,
                       longest.at.volume / 1e6));
}

}  // namespace

ShareMachine measure_machine(const Communicator& world, const Topology& topology, at::Device device) {
  ShareMachine machine{world.allreduce(topology.local_size, ReduceOp::max)};
  if (world.size() == 1) return machine;
  std::vector<StepObservation> observations;
  add_observations(world, topology.num_nodes, machine.ranks_per_node, device, observations);
  if (topology.num_nodes > 1 && machine.ranks_per_node > 1) {
    // All nodes measure at the same time, each its own links; no node but rank 0's is looked at afterwards.
    std::vector<StepObservation> local;
    add_observations(topology.node, 1, topology.local_size, device, local);
    std::vector<double> seconds;
    seconds.reserve(local.size());
    for (const StepObservation& one : local)
      seconds.push_back(one.seconds);
    world.broadcast(std::span<double>(seconds));  // all ranks fit the same: those of rank 0's node
    const int size = world.broadcast_value(topology.local_size);
    for (std::size_t i = 0; i < local.size() && size > 1; ++i) {
      local[i].at.gpus = local[i].at.max_per_node = size;
      observations.push_back({local[i].at, seconds[i]});
    }
  }
  release_cached_device_memory(device);
  machine.links = calibrate_links(observations);
  if (world.is_root()) log_links(observations);
  return machine;
}

}  // namespace multicard
