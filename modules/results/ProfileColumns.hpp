#pragma once
/// \file The columns of each table of a profile in a results file, for writing and reading; for modules/results only.
///
/// describe(visit, row) calls visit.key(name, member) for what names a row, and visit.total() or visit.largest(), by
/// the rule for parts of a run, for every value. A value that is not known (an empty std::optional) is not written, and
/// stays unknown where its column or its field is missing.

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "profile/Profile.hpp"
#include "results/RankRecord.hpp"

namespace multicard {

/// What a profile has besides tables.
struct WindowRow {
  std::string name = "window";
  std::int64_t steps = 0, ns = 0, unmatched_kernels = 0;
};

template <class T, class Row>
concept Is = std::same_as<std::remove_const_t<T>, Row>;

template <class Visit>
void describe(Visit& visit, Is<Distribution> auto& time) {
  visit.total("count", time.count);
  visit.total("total_ns", time.total);
  visit.largest("p95_ns", time.p95);
  visit.largest("max_ns", time.max);
}
template <class Visit>
void describe(Visit& visit, Is<OperatorCost> auto& cost) {
  visit.total("self_ns", cost.self_ns);
  visit.total("gpu_ns", cost.gpu_ns);
  visit.total("gpu_count", cost.gpu_count);
  visit.total("allocated_bytes", cost.allocated_bytes);
}
template <class Visit>
void describe(Visit& visit, Is<NamedTimes> auto& row) {
  visit.key("name", row.name);
  describe(visit, row.time);
}
template <class Visit>
void describe(Visit& visit, Is<CopyRow> auto& row) {
  visit.key("direction", row.direction);
  describe(visit, row.time);
  visit.total("bytes", row.bytes);
  visit.total("without_bytes", row.without_bytes);
}
template <class Visit>
void describe(Visit& visit, Is<OperatorRow> auto& row) {
  visit.key("name", row.name);
  visit.key("phase", row.phase);
  describe(visit, row.time);
  describe(visit, row.cost);
}
template <class Visit>
void describe(Visit& visit, Is<PhaseRow> auto& row) {
  visit.key("name", row.name);
  describe(visit, row.time);
  describe(visit, row.cost);
  visit.largest("order", row.order);
}
template <class Visit>
void describe(Visit& visit, Is<BlockRow> auto& row) {
  visit.key("name", row.name);
  visit.key("pass", row.pass);
  describe(visit, row.time);
  describe(visit, row.cost);
  visit.largest("order", row.order);
}
template <class Visit>
void describe(Visit& visit, Is<ThreadRow> auto& row) {
  visit.key("name", row.name);
  visit.largest("count", row.count);
  visit.total("window_ns", row.window_ns);
  visit.total("running_ns", row.running_ns);
  visit.total("waiting_ns", row.waiting_ns);
}
template <class Visit>
void describe(Visit& visit, Is<ExchangeRow> auto& row) {
  visit.key("name", row.name);
  visit.total("calls", row.totals.calls);
  visit.total("payload_bytes", row.totals.payload_bytes);
  visit.total("bus_bytes", row.totals.bus_bytes);
  visit.total("seconds_total", row.totals.seconds_total);
  visit.total("seconds_exposed", row.totals.seconds_exposed);
  visit.total("seconds_skew", row.totals.seconds_skew);
}
template <class Visit>
void describe(Visit& visit, Is<FileRow> auto& row) {
  visit.key("name", row.name);
  for_each_column<FileTotals>([&](const auto& column) { visit.total(column.name, row.totals.*column.place); });
}
template <class Visit>
void describe(Visit& visit, Is<MpiRow> auto& row) {
  visit.key("name", row.name);
  visit.total("calls", row.calls);
  visit.total("bytes", row.bytes);
  visit.total("total_ns", row.ns);
}
template <class Visit>
void describe(Visit& visit, Is<GpuTime> auto& row) {
  visit.key("device", row.device);
  visit.total("span_ns", row.span);
  visit.total("busy_ns", row.busy);
  visit.total("compute_ns", row.compute);
  visit.total("communication_ns", row.communication);
  visit.total("memory_ns", row.memory);
  visit.total("overlap_ns", row.overlap);
}
template <class Visit>
void describe(Visit& visit, Is<StreamRow> auto& row) {
  visit.key("device", row.device);
  visit.key("stream", row.stream);
  visit.total("work_count", row.count);
  visit.total("span_ns", row.span);
  visit.total("busy_ns", row.busy);
  describe(visit, row.gaps);
  visit.total("host_bound_gaps", row.host_bound_gaps);
  visit.total("host_bound_ns", row.host_bound_ns);
}
template <class Visit>
void describe(Visit& visit, Is<ShareRow> auto& row) {
  visit.key("name", row.name);
  visit.key("of", row.of);
  visit.total("count", row.count);
  visit.total("total_ns", row.ns);
  visit.total("whole_ns", row.whole_ns);
}
template <class Visit>
void describe(Visit& visit, Is<WindowRow> auto& row) {
  visit.key("name", row.name);
  visit.total("steps", row.steps);
  visit.total("window_ns", row.ns);
  visit.total("unmatched_kernels", row.unmatched_kernels);
}

}  // namespace multicard
