#include "profile/trace/OperatorTimes.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace multicard {

namespace {

/// Indices of ranges by thread, in the order of their begin; of those that begin together the enclosing one is first.
template <class Range>
std::vector<std::vector<std::size_t>> by_thread(const Trace& trace, const std::vector<Range>& ranges) {
  std::vector<std::vector<std::size_t>> threads(static_cast<std::size_t>(trace.num_threads));
  for (std::size_t i = 0; i < ranges.size(); ++i)
    threads[static_cast<std::size_t>(ranges[i].thread)].push_back(i);
  for (std::vector<std::size_t>& thread : threads)
    std::stable_sort(thread.begin(), thread.end(), [&](std::size_t a, std::size_t b) {
      return ranges[a].begin != ranges[b].begin ? ranges[a].begin < ranges[b].begin : ranges[a].end > ranges[b].end;
    });
  return threads;
}

/// The open operators of a thread at a moment that moves forward.
class OpenOperators {
 public:
  OpenOperators(const Trace& trace, const std::vector<std::size_t>& order, std::vector<std::int64_t>& self)
      : operators_(trace.operators), order_(order), self_(self) {}

  /// The innermost operator that is open at `moment`; none if `moment` lies in no operator.
  const HostRange* at(std::int64_t moment) {
    while (next_ < order_.size() && operators_[order_[next_]].begin <= moment)
      open(order_[next_++]);
    close_before(moment);
    return open_.empty() ? nullptr : &operators_[open_.back()];
  }
  void finish() {
    while (next_ < order_.size())
      open(order_[next_++]);
  }

 private:
  void open(std::size_t index) {
    close_before(operators_[index].begin);
    self_[index] += operators_[index].length();
    // One that ends later than its caller takes from it no more than the caller has.
    if (!open_.empty())
      self_[open_.back()] -= std::min(operators_[index].end, operators_[open_.back()].end) - operators_[index].begin;
    open_.push_back(index);
  }
  void close_before(std::int64_t moment) {
    while (!open_.empty() && operators_[open_.back()].end <= moment)
      open_.pop_back();
  }

  const std::vector<HostRange>& operators_;
  const std::vector<std::size_t>& order_;
  std::vector<std::int64_t>& self_;
  std::vector<std::size_t> open_;
  std::size_t next_ = 0;
};

struct Sums {
  std::vector<std::int64_t> durations;
  std::int64_t self_ns = 0, gpu_ns = 0, gpu_count = 0;
};

}  // namespace

std::vector<OperatorRow> operator_rows(const Trace& trace, const CallsByCorrelation& calls) {
  std::vector<std::int64_t> self(trace.operators.size());
  std::vector<std::int32_t> operator_of(trace.calls.size(), -1);
  const auto operators = by_thread(trace, trace.operators), api = by_thread(trace, trace.calls);
  for (std::size_t thread = 0; thread < operators.size(); ++thread) {
    OpenOperators open(trace, operators[thread], self);
    for (const std::size_t call : api[thread])
      if (const HostRange* innermost = open.at(trace.calls[call].begin)) operator_of[call] = innermost->name;
    open.finish();
  }
  std::map<std::int32_t, Sums> sums;
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    Sums& of = sums[trace.operators[i].name];
    of.durations.push_back(trace.operators[i].length());
    of.self_ns += self[i];
  }
  for (const GpuEvent& event : trace.gpu) {
    const std::int64_t call = calls.index(event.correlation);
    if (call < 0 || operator_of[static_cast<std::size_t>(call)] < 0) continue;
    Sums& of = sums[operator_of[static_cast<std::size_t>(call)]];
    of.gpu_ns += event.length();
    ++of.gpu_count;
  }
  std::vector<OperatorRow> rows;
  rows.reserve(sums.size());
  for (auto& [name, of] : sums)
    rows.push_back(
        {trace.names.name(name), distribution_of(std::move(of.durations)), of.self_ns, of.gpu_ns, of.gpu_count});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const OperatorRow& a, const OperatorRow& b) { return a.self_ns > b.self_ns; });
  return rows;
}

}  // namespace multicard
