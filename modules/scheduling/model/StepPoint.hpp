#pragma once
/// \file What the time of a training step depends on, and measured times of steps.

#include <span>

namespace multicard {

/// The GPUs, rows and strategy of a step.
struct StepPoint {
  int gpus = 1;
  int nodes = 1;
  int max_per_node = 1;      ///< GPUs on the node that has the most of them
  bool unpaired = false;     ///< several GPUs, and some node has an odd number of them
  int adapters = 1;          ///< network adapters of the node that uses the fewest of them
  double rows_per_gpu = 1;   ///< rows that a GPU computes at once
  int accumulation = 0;      ///< micro-batches before the one whose gradients are reduced
  double volume = 1;         ///< bytes that are all-reduced; 1 where they are unknown but the same in all steps
  int optimizer_shards = 1;  ///< ranks that share the optimizer's work
  int tensor_parallel = 1;   ///< GPUs that share each layer
  int pipeline_stages = 1;   ///< GPUs that hold different layers

  /// Replicas of the model: the group that reduces gradients.
  int replicas() const;
  /// Replicas on the fullest node, where those of one node are as close together as tensor and pipeline groups allow.
  int replicas_per_node() const;

  bool operator==(const StepPoint&) const = default;
};

/// The point with `gpus_of_nodes` GPUs on each node and `rows_per_gpu` rows; data-parallel, without accumulation. Two
/// GPUs share a network adapter, as in most machines. Throws UsageError when a node has none.
StepPoint placed(std::span<const int> gpus_of_nodes, double rows_per_gpu);

/// A measured step.
struct StepObservation {
  StepPoint at;
  double seconds = 0;
};

}  // namespace multicard
