#include "profile/trace/StepWindow.hpp"

#include <cstddef>
#include <unordered_set>
#include <utility>
#include <vector>

#include "profile/trace/StepParts.hpp"

namespace multicard {

namespace {

// Nodes are parallel to operators: both lose the same places.
void keep_operators(Trace& trace, const PhaseIndex& phases) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    if (!phases.at(trace.operators[i].begin)) continue;
    trace.operators[kept] = trace.operators[i];
    if (!trace.nodes.empty()) trace.nodes[kept] = trace.nodes[i];
    ++kept;
  }
  trace.operators.resize(kept);
  if (!trace.nodes.empty()) trace.nodes.resize(kept);
}

}  // namespace

void keep_steps(Trace& trace) {
  const PhaseIndex phases(trace);
  const auto is_outside = [&](const Span& span) { return !phases.at(span.begin); };
  keep_operators(trace, phases);
  std::erase_if(trace.blocks, is_outside);
  std::erase_if(trace.allocations, [&](const AllocatedMemory& allocation) { return !phases.at(allocation.at); });
  std::unordered_set<std::int64_t> dropped, known;
  for (const ApiCall& call : trace.calls) {
    if (call.correlation < 0) continue;
    known.insert(call.correlation);
    if (is_outside(call)) dropped.insert(call.correlation);
  }
  std::erase_if(trace.calls, is_outside);
  std::erase_if(trace.gpu, [&](const GpuEvent& event) {
    return known.contains(event.correlation) ? dropped.contains(event.correlation) : is_outside(event);
  });
}

}  // namespace multicard
