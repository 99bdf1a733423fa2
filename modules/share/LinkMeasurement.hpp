#pragma once
/// \file The links between the ranks of a job, measured before its tasks start.

#include <optional>
#include <vector>

#include <c10/core/Device.h>

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"

namespace multicard {

/// What holds for every task of a job.
struct ShareMachine {
  std::vector<int> nodes;  ///< of each rank; ranks with equal values share a node
  /// Communication parameters of StepTimeModel, as FitOptions::known takes them; empty: not measured.
  std::vector<std::optional<double>> links = {};
};

/// Collective over `world`. Times all-reduces of several sizes over all ranks, and, where there are several nodes, over
/// those of each node, and fits the links to them (calibrate_links()). Nothing is measured on one rank. Logs what was
/// found. \throws CommunicationError as TensorCollectives
ShareMachine measure_machine(const Communicator& world, const Topology& topology, at::Device device);

}  // namespace multicard
