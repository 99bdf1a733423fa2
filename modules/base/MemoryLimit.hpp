#pragma once
/// \file What a control group leaves of the machine's memory.

#include <cstdint>
#include <optional>
#include <string>

namespace multicard {

/// Bytes that the processes of a control group (version 2) may still take, between 0 and its limit. Pages of files that
/// have not been used for a while count as free: the kernel gives them up before it refuses memory.
/// \param folder  of the group, with memory.max, memory.current and memory.stat
/// \return nullopt where there is no limit
std::optional<std::int64_t> memory_left_in(const std::string& folder);

}  // namespace multicard
