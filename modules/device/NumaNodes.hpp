#pragma once
/// \file Which memory nodes (NUMA) processors belong to, as the kernel reports it below /sys/devices/system/node.

#include <string>
#include <vector>

namespace multicard {

/// The numbers of a list like "0-3,8".
std::vector<int> numbers_in(const std::string& list);

/// The nodes that hold at least one of the processors in `cpus` ("0-3,8"), ascending; empty where the system has no
/// such nodes. \param system the folder of node0, node1, ...
std::vector<int> numa_nodes_of(const std::string& cpus, const std::string& system = "/sys/devices/system/node");

}  // namespace multicard
