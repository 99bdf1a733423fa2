#pragma once
/// \file Readers that stand on libhdf5, which may crash on damaged files (docs/reliability.md): they run in a process
/// of their own.

#include <functional>

namespace multicard::fuzz {

/// Runs `body` in a forked process and holds what it throws to the contract. A crash or a hang inside libhdf5 is
/// counted, and told at the end; any other is a finding.
void in_child(const std::function<void()>& body);

}  // namespace multicard::fuzz
