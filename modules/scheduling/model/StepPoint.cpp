#include "scheduling/model/StepPoint.hpp"

#include <algorithm>

#include "base/Error.hpp"

namespace multicard {

int StepPoint::replicas() const {
  return std::max(1, gpus / (tensor_parallel * pipeline_stages));
}

int StepPoint::replicas_per_node() const {
  return std::clamp(max_per_node * replicas() / gpus, 1, replicas());
}

StepPoint placed(std::span<const int> gpus_of_nodes, double rows_per_gpu) {
  if (gpus_of_nodes.empty() || std::ranges::any_of(gpus_of_nodes, [](int gpus) { return gpus < 1; }))
    throw UsageError("a placement has a node without GPUs");
  StepPoint point{.gpus = 0, .nodes = static_cast<int>(gpus_of_nodes.size()), .rows_per_gpu = rows_per_gpu};
  bool odd = false;
  for (const int gpus : gpus_of_nodes) {
    point.gpus += gpus;
    point.max_per_node = std::max(point.max_per_node, gpus);
    odd = odd || gpus % 2 == 1;
  }
  // The node with the fewest adapters in use limits the ring between nodes.
  point.adapters = (std::ranges::min(gpus_of_nodes) + 1) / 2;
  point.unpaired = odd && point.gpus > 1;
  return point;
}

}  // namespace multicard
