#include "dist/LinkSpeed.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/Clock.hpp"
#include "base/Quantiles.hpp"
#include "comm/Packing.hpp"
#include "device/Memory.hpp"

namespace multicard {

namespace {

constexpr int kWarmUps = 2, kLeastRounds = 9, kMostRounds = 200;
constexpr double kMostSeconds = 0.3, kHalfWidth = 0.05;
constexpr std::int64_t kShort = 1 << 10, kLong = 1 << 20;  ///< float32 values

/// The 95 % interval of the median lies between the order statistics at n/2 -+ 0.98 sqrt(n).
void set_interval(AllReduceTime& time, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto count = static_cast<double>(seconds.size());
  const auto below = static_cast<std::size_t>(std::max(0.0, std::floor(0.5 * count - 0.98 * std::sqrt(count))));
  time.median_s = median(seconds);
  time.low_s = seconds[below];
  time.high_s = seconds[seconds.size() - 1 - below];
}

double once(TensorCollectives& collectives, const Communicator& ranks, const at::Tensor& flat) {
  flat.sum().item<float>();  // waits for the device
  ranks.barrier();
  const TimePoint start = SteadyClock::now();
  collectives.start_all_reduce(flat, {})->wait();
  flat[0].item<float>();
  // After a barrier, so that no rank counts the time that it waited for others to begin.
  return ranks.allreduce(seconds_since(start), ReduceOp::max);
}

/// Collective over `ranks`.
std::optional<LinkSpeed> measure(const Communicator& ranks, at::Device device) {
  if (ranks.size() == 1) return std::nullopt;
  const auto collectives = make_collectives(Backend::automatic, ranks, device);
  return LinkSpeed{ranks.size(), time_all_reduce(*collectives, ranks, kShort),
                   time_all_reduce(*collectives, ranks, kLong)};
}

/// Whether `a` says more about a job: of more ranks, or slower.
bool matters_more(const LinkSpeed& a, const LinkSpeed& b) {
  if (a.num_ranks != b.num_ranks) return a.num_ranks > b.num_ranks;
  return a.longest.median_s > b.longest.median_s;
}

/// Collective. The links of the fullest node; of several, of the slowest.
std::optional<LinkSpeed> of_fullest_node(const Communicator& world, const std::optional<LinkSpeed>& mine) {
  Packer pack;
  if (mine) pack(*mine);
  std::optional<LinkSpeed> chosen;
  for (const std::string& bytes : world.allgather(pack.take())) {
    if (bytes.empty()) continue;
    LinkSpeed speed;
    Unpacker{bytes}(speed);
    if (!chosen || matters_more(speed, *chosen)) chosen = speed;
  }
  return chosen;
}

}  // namespace

double AllReduceTime::bus_bytes_per_s(int num_ranks) const {
  return 2.0 * (num_ranks - 1) / num_ranks * static_cast<double>(num_bytes) / median_s;
}

AllReduceTime time_all_reduce(TensorCollectives& collectives, const Communicator& ranks, std::int64_t num_values) {
  const at::Tensor flat = collectives.allocate_flat(num_values, at::kFloat);
  AllReduceTime time;
  time.num_bytes = num_values * 4;
  for (int round = 0; round < kWarmUps; ++round)
    once(collectives, ranks, flat);
  std::vector<double> seconds;
  double total = 0;
  bool is_narrow = false;
  // The times are the same on all ranks, hence so is the number of rounds.
  while (static_cast<int>(seconds.size()) < kLeastRounds ||
         (!is_narrow && static_cast<int>(seconds.size()) < kMostRounds && total < kMostSeconds)) {
    seconds.push_back(once(collectives, ranks, flat));
    total += seconds.back();
    set_interval(time, seconds);
    is_narrow = time.high_s - time.low_s <= 2 * kHalfWidth * time.median_s;
  }
  time.num_rounds = static_cast<int>(seconds.size());
  return time;
}

LinkSpeeds measure_link_speeds(const Communicator& world, const Topology& topology, at::Device device) {
  LinkSpeeds speeds;
  speeds.within_node = of_fullest_node(world, measure(topology.node, device));
  const bool is_first = topology.local_rank == 0;
  const Communicator firsts = world.split(is_first ? 0 : 1, world.rank());
  if (topology.num_nodes > 1 && is_first) speeds.between_nodes = measure(firsts, device);
  release_cached_device_memory(device);
  return speeds;
}

}  // namespace multicard
