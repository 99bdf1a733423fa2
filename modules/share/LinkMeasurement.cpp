#include "share/LinkMeasurement.hpp"

#include <array>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "device/Memory.hpp"
#include "dist/LinkSpeed.hpp"
#include "scheduling/model/LinkCalibration.hpp"

namespace multicard {

namespace {

// From sizes where latency is all of the time to sizes where bandwidth is most of it (16 kB to 4 MB): the fit must be
// able to separate the two.
constexpr std::array<std::int64_t, 4> kValues{1 << 12, 1 << 15, 1 << 18, 1 << 20};  ///< float32

/// Collective over `ranks`, which are on `nodes` nodes with `per_node` of them on the fullest. One time for each size.
std::vector<AllReduceTime> add_observations(const Communicator& ranks, int nodes, int per_node, at::Device device,
                                            std::vector<StepObservation>& observations) {
  const auto collectives = make_collectives(Backend::automatic, ranks, device);
  std::vector<AllReduceTime> times;
  for (const std::int64_t values : kValues) {
    StepPoint at;
    at.gpus = ranks.size();
    at.nodes = nodes;
    at.max_per_node = per_node;
    at.volume = static_cast<double>(values * 4);
    times.push_back(time_all_reduce(*collectives, ranks, values));
    observations.push_back({at, times.back().median_s});
  }
  return times;
}

void log_links(int num_ranks, const AllReduceTime& shortest, const AllReduceTime& longest) {
  const double bus_bytes = longest.bus_bytes_per_s(num_ranks) * longest.median_s;
  log_info(
      fmt::format("{:<10}all-reduce over {}: {:.3g} ms ({:.3g} to {:.3g}) for {:.0f} kB, {:.3g} GB/s ({:.3g} to "
                  "{:.3g}) for {:.1f} MB",
                  "links", counted(num_ranks, "rank"), 1e3 * shortest.median_s, 1e3 * shortest.low_s,
                  1e3 * shortest.high_s, 1e-3 * static_cast<double>(shortest.num_bytes),
                  1e-9 * bus_bytes / longest.median_s, 1e-9 * bus_bytes / longest.high_s,
                  1e-9 * bus_bytes / longest.low_s, 1e-6 * static_cast<double>(longest.num_bytes)));
}

}  // namespace

ShareMachine measure_machine(const Communicator& world, const Topology& topology, at::Device device) {
  ShareMachine machine{topology.nodes};
  const int most_on_a_node = world.allreduce(topology.local_size, ReduceOp::max);
  if (world.size() == 1) return machine;
  std::vector<StepObservation> observations;
  const std::vector<AllReduceTime> times =
      add_observations(world, topology.num_nodes, most_on_a_node, device, observations);
  if (topology.num_nodes > 1 && most_on_a_node > 1) {
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
  if (world.is_root()) log_links(world.size(), times.front(), times.back());
  return machine;
}

}  // namespace multicard
