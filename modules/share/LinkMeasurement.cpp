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

/// Collective. The fit is of every node's links, so that all ranks have the same. \param local of the own node
void add_those_of_all_nodes(const Communicator& world, const Topology& topology,
                            const std::vector<StepObservation>& local, std::vector<StepObservation>& observations) {
  const std::vector<int> sizes = world.allgather(topology.local_rank == 0 ? topology.local_size : 0);
  for (StepObservation one : local) {
    const std::vector<double> seconds = world.allgather(one.seconds);
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      if (sizes[rank] <= 1) continue;  // of each node the first rank speaks; one rank has no link
      one.at.gpus = one.at.max_per_node = sizes[rank];
      one.seconds = seconds[rank];
      observations.push_back(one);
    }
  }
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
    std::vector<StepObservation> local;  // all nodes measure at the same time, each its own links
    add_observations(topology.node, 1, topology.local_size, device, local);
    add_those_of_all_nodes(world, topology, local, observations);
  }
  release_cached_device_memory(device);
  machine.links = calibrate_links(observations);
  if (world.is_root()) log_links(world.size(), times.front(), times.back());
  return machine;
}

}  // namespace multicard
