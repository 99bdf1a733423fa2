#include "replay/SchedulingPolicy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace multicard {

namespace {

enum class Order { smallest_first, largest_first };

std::vector<JobGpus> place(const ClusterShape& cluster, const ActiveJobs& jobs, const std::vector<int>& counts,
                           Order order, JobGpus (FreeGpus::*take)(int)) {
  std::vector<JobGpus> allocations(jobs.size());
  std::vector<std::size_t> others;
  FreeGpus free(cluster);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (num_gpus(jobs[i]->allocation()) == counts[i]) {
      allocations[i] = jobs[i]->allocation();
      free.take(allocations[i]);
    } else {
      others.push_back(i);
    }
  }
  std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
    return order == Order::smallest_first ? counts[a] < counts[b] : counts[a] > counts[b];
  });
  for (const std::size_t i : others)
    allocations[i] = (free.*take)(counts[i]);
  return allocations;
}

}  // namespace

FreeGpus::FreeGpus(const ClusterShape& cluster)
    : free_(static_cast<std::size_t>(cluster.nodes), cluster.gpus_per_node), count_(cluster.num_gpus()) {}

void FreeGpus::take(const JobGpus& allocation) {
  for (const NodeGpus& share : allocation) {
    free_[static_cast<std::size_t>(share.node)] -= share.gpus;
    count_ -= share.gpus;
  }
}

JobGpus FreeGpus::take_widest(int gpus) {
  JobGpus taken;
  while (gpus > 0) {
    const auto widest = std::max_element(free_.begin(), free_.end());
    taken.push_back({static_cast<int>(widest - free_.begin()), std::min(*widest, gpus)});
    take({taken.back()});
    gpus -= taken.back().gpus;
  }
  return taken;
}

JobGpus FreeGpus::take_tightest(int gpus) {
  JobGpus taken;
  while (gpus > 0) {
    auto best = std::max_element(free_.begin(), free_.end());
    for (auto node = free_.begin(); node != free_.end(); ++node)
      if (*node >= gpus && *node < *best) best = node;
    taken.push_back({static_cast<int>(best - free_.begin()), std::min(*best, gpus)});
    take({taken.back()});
    gpus -= taken.back().gpus;
  }
  return taken;
}

std::vector<std::size_t> least_served_first(const ActiveJobs& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return jobs[a]->attained_service() < jobs[b]->attained_service();
  });
  return order;
}

std::vector<int> usable_counts(const JobModel& model, const ClusterShape& cluster) {
  std::vector<int> counts;
  const int most = std::min(model.most_gpus(), cluster.num_gpus());
  for (int gpus = 1; gpus <= most; gpus += gpus < cluster.gpus_per_node ? 1 : cluster.gpus_per_node)
    if (std::isfinite(model.remaining_seconds(gpus, 0, 0))) counts.push_back(gpus);
  return counts;
}

std::vector<JobGpus> place_largest_first(const ClusterShape& cluster, const ActiveJobs& jobs,
                                         const std::vector<int>& counts) {
  return place(cluster, jobs, counts, Order::largest_first, &FreeGpus::take_tightest);
}

std::vector<JobGpus> place_smallest_first(const ClusterShape& cluster, const ActiveJobs& jobs,
                                          const std::vector<int>& counts) {
  return place(cluster, jobs, counts, Order::smallest_first, &FreeGpus::take_widest);
}

}  // namespace multicard
