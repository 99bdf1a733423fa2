#include "profile/trace/OperatorTimes.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "profile/trace/StepParts.hpp"

namespace multicard {

namespace {

/// What an operator may enclose, at the moment at which it begins.
struct Inside {
  std::int64_t at = 0;
  std::int64_t call = -1;  ///< index in Trace::calls; -1: an allocation
  std::int64_t bytes = 0;  ///< of the allocation
};

/// Indices of operators by thread, in the order of their begin; of those that begin together the enclosing one is
/// first.
std::vector<std::vector<std::size_t>> operators_by_thread(const Trace& trace) {
  std::vector<std::vector<std::size_t>> threads(static_cast<std::size_t>(trace.num_threads));
  const std::vector<HostRange>& ranges = trace.operators;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    threads[static_cast<std::size_t>(ranges[i].thread)].push_back(i);
  for (std::vector<std::size_t>& thread : threads)
    std::stable_sort(thread.begin(), thread.end(), [&](std::size_t a, std::size_t b) {
      return ranges[a].begin != ranges[b].begin ? ranges[a].begin < ranges[b].begin : ranges[a].end > ranges[b].end;
    });
  return threads;
}

std::vector<std::vector<Inside>> insides_by_thread(const Trace& trace) {
  std::vector<std::vector<Inside>> threads(static_cast<std::size_t>(trace.num_threads));
  for (std::size_t i = 0; i < trace.calls.size(); ++i)
    threads[static_cast<std::size_t>(trace.calls[i].thread)].push_back(
        {trace.calls[i].begin, static_cast<std::int64_t>(i), 0});
  for (const AllocatedMemory& allocation : trace.allocations)
    threads[static_cast<std::size_t>(allocation.thread)].push_back({allocation.at, -1, allocation.bytes});
  for (std::vector<Inside>& thread : threads)
    std::stable_sort(thread.begin(), thread.end(), [](const Inside& a, const Inside& b) { return a.at < b.at; });
  return threads;
}

/// The open operators of a thread at a moment that moves forward.
class OpenOperators {
 public:
  OpenOperators(const Trace& trace, const std::vector<std::size_t>& order, std::vector<PlacedOperator>& placed)
      : operators_(trace.operators), order_(order), placed_(placed) {}

  /// Index of the innermost operator that is open at `moment`; -1 if `moment` lies in no operator.
  std::int64_t at(std::int64_t moment) {
    while (next_ < order_.size() && operators_[order_[next_]].begin <= moment)
      open(order_[next_++]);
    close_before(moment);
    return innermost();
  }
  void finish() {
    while (next_ < order_.size())
      open(order_[next_++]);
  }

 private:
  std::int64_t innermost() const { return open_.empty() ? -1 : static_cast<std::int64_t>(open_.back()); }

  void open(std::size_t index) {
    close_before(operators_[index].begin);
    placed_[index].cost.self_ns += operators_[index].length();
    placed_[index].caller = innermost();
    // One that ends later than its caller takes from it no more than the caller has.
    if (!open_.empty())
      placed_[open_.back()].cost.self_ns -=
          std::min(operators_[index].end, operators_[open_.back()].end) - operators_[index].begin;
    open_.push_back(index);
  }
  void close_before(std::int64_t moment) {
    while (!open_.empty() && operators_[open_.back()].end <= moment)
      open_.pop_back();
  }

  const std::vector<HostRange>& operators_;
  const std::vector<std::size_t>& order_;
  std::vector<PlacedOperator>& placed_;
  std::vector<std::size_t> open_;
  std::size_t next_ = 0;
};

}  // namespace

OperatorCost no_cost(const Trace& trace) {
  OperatorCost cost;
  if (!trace.gpu.empty()) cost.gpu_ns = cost.gpu_count = 0;
  if (trace.has_allocations) cost.allocated_bytes = 0;
  return cost;
}

PlacedOperators placed_operators(const Trace& trace, const CallsByCorrelation& calls) {
  PlacedOperators placed;
  placed.operators.resize(trace.operators.size(), {no_cost(trace)});
  std::vector<std::int64_t> operator_of(trace.calls.size(), -1);
  const auto operators = operators_by_thread(trace);
  const auto insides = insides_by_thread(trace);
  for (std::size_t thread = 0; thread < operators.size(); ++thread) {
    OpenOperators open(trace, operators[thread], placed.operators);
    for (const Inside& inside : insides[thread]) {
      const std::int64_t innermost = open.at(inside.at);
      if (inside.call >= 0)
        operator_of[static_cast<std::size_t>(inside.call)] = innermost;
      else if (innermost >= 0)
        placed.operators[static_cast<std::size_t>(innermost)].cost.add({.allocated_bytes = inside.bytes});
    }
    open.finish();
  }
  for (std::size_t i = 0; i < trace.gpu.size(); ++i) {
    const std::int64_t call = calls.index(trace.gpu[i].correlation);
    if (call < 0) continue;
    const std::int64_t starter = operator_of[static_cast<std::size_t>(call)];
    if (starter < 0)
      placed.without.push_back(static_cast<std::int64_t>(i));
    else
      placed.operators[static_cast<std::size_t>(starter)].cost.add({.gpu_ns = trace.gpu[i].length(), .gpu_count = 1});
  }
  return placed;
}

std::vector<OperatorRow> operator_rows(const Trace& trace, const PlacedOperators& placed) {
  struct Sums {
    std::vector<std::int64_t> durations;
    OperatorCost cost;
  };
  const PhaseIndex phases(trace);
  std::map<std::pair<std::int32_t, std::string_view>, Sums> sums;
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    const HostRange& range = trace.operators[i];
    Sums& of = sums[{range.name, phases.name_at(range.begin)}];
    of.durations.push_back(range.length());
    of.cost.add(placed.operators[i].cost);
  }
  std::vector<OperatorRow> rows;
  rows.reserve(sums.size());
  for (auto& [key, of] : sums)
    rows.push_back(
        {trace.names.name(key.first), distribution_of(std::move(of.durations)), of.cost, std::string(key.second)});
  return rows;
}

}  // namespace multicard
