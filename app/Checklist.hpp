#pragma once
/// \file The checks of `multicard info`, of all ranks in one list.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"
#include "device/Device.hpp"

namespace multicard {

/// Collective. One entry a check: name, ok (true, false, or null where there is nothing to check), found, and to_do
/// where it failed. A check fails when it fails on one rank, which is then named.
nlohmann::ordered_json run_checks(const Communicator& world, const Topology& topology, const DeviceChoice& device);

/// As lines for a person: a mark, the name, what was found, and below it what to do.
std::string checks_text(const nlohmann::ordered_json& checks);

}  // namespace multicard
