#pragma once
/// \file The formula for the time of a step on any GPUs.

#include "scheduling/model/StepTimeForm.hpp"

namespace multicard {

/// Parameters of StepTimeModel, in their order. Seconds, where nothing else is said; none is negative.
enum class StepTerm : std::size_t {
  compute_base,    ///< of a micro-batch
  compute_row,     ///< of a row
  launch_bound,    ///< least time of a micro-batch, when launching its kernels takes longer than they do
  overhead,        ///< of a step, whatever its size; never overlapped
  local_latency,   ///< of an all-reduce within a node
  local_log,       ///< of each doubling of the GPUs of a node
  local_volume,    ///< of a byte between the GPUs of a node
  global_latency,  ///< of an all-reduce between nodes
  global_log,      ///< of each doubling of the nodes
  global_volume,   ///< of a byte between nodes
  global_adapter,  ///< of a byte through a network adapter, which the GPUs of a node share
  global_step,     ///< of each further GPU in a ring over several nodes
  overlap,         ///< 1: communication starts after the backward pass; 10: it overlaps with it
  straggler,       ///< share of computing that each doubling of the GPUs adds, because all wait for the slowest
  unpaired,        ///< of nodes with an odd number of GPUs, by log2(1 + GPUs on the fullest node)
  unpaired_gpu,    ///< of the same, by each further GPU
  input_row,       ///< of reading a row, shared by the GPUs of a node, while the step before is computed
  optimizer,       ///< of the update, without shards
  tensor_row,      ///< of exchanging activations of a row in a layer's group
  stage_row,       ///< of passing activations of a row on to the next stage
  stage_node,      ///< of the same, by each boundary between nodes that a replica has, through an adapter
  count
};

/// T = max(T_step, T_input), where T_step = overhead + s C + (C^g + R^g)^(1/g) + optimizer / shards, g = overlap,
/// C = computing of a micro-batch and R = all-reducing gradients, level by level, as latency + log2(n) + ring volume
/// 2 (n - 1) / n. Maxima are smooth. The volume terms are seconds a byte, and so those of the machine, where bytes are
/// known; they belong to the task otherwise. Network adapters and nodes with an odd number of GPUs are what measured
/// tables of machines with 8 GPUs a node show (docs/scaling_model.md).
class StepTimeModel : public StepTimeForm {
 public:
  std::span<const FormParameter> parameters() const override;
  double seconds(const StepPoint& at, std::span<const double> values, std::span<double> gradient) const override;
  std::vector<bool> identifiable(std::span<const StepObservation> observations) const override;
  std::vector<double> start(std::span<const StepObservation> observations) const override;
  std::vector<Penalty> penalties(std::span<const double> values) const override;
};

}  // namespace multicard
