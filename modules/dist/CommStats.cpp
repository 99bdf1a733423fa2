#include "dist/CommStats.hpp"

namespace multicard {

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::scatter:
      return "scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
  }
  return "";
}

namespace {

double bus_factor(CollectiveKind kind, int num_ranks) {
  const double others = static_cast<double>(num_ranks - 1) / num_ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * others;
    case CollectiveKind::reduce:
    case CollectiveKind::broadcast:
      return num_ranks > 1 ? 1 : 0;
    case CollectiveKind::scatter:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return others;
  }
  return 0;
}

}  // namespace

void CommStats::add(CollectiveKind kind, std::int64_t payload_bytes, const Seconds& seconds) {
  CommunicationTotals none;
  none.seconds_skew = 0;
  CommunicationTotals& totals = totals_.emplace(name_of(kind), none).first->second;
  totals.calls += 1;
  totals.payload_bytes += payload_bytes;
  totals.bus_bytes += bus_factor(kind, num_ranks_) * static_cast<double>(payload_bytes);
  totals.seconds_total += seconds.total;
  totals.seconds_exposed += seconds.exposed;
  totals.seconds_skew += seconds.skew;
}

}  // namespace multicard
