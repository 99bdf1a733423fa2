#include "io/Hdf5Totals.hpp"

#include <array>
#include <atomic>

#include "io/Hdf5State.hpp"

namespace multicard {

namespace {

// In the order of Direction, and of Transfer within.
constexpr std::array<const char*, 4> kKinds{"read_independent", "read_collective", "write_independent",
                                            "write_collective"};

struct Counters {
  std::atomic<std::int64_t> calls{0}, bytes{0}, ns{0}, lock_ns{0};
};

std::array<Counters, kKinds.size()>& all_counters() {
  static std::array<Counters, kKinds.size()> counters;
  return counters;
}

double seconds_of(const std::atomic<std::int64_t>& ns) {
  return 1e-9 * static_cast<double>(ns.load(std::memory_order_relaxed));
}

}  // namespace

void TransferTimer::add(std::uint64_t calls, std::uint64_t bytes) const {
  const std::chrono::nanoseconds ns = SteadyClock::now() - start_;
  Counters& counters = all_counters()[2 * static_cast<std::size_t>(direction_) + static_cast<std::size_t>(transfer_)];
  counters.calls.fetch_add(static_cast<std::int64_t>(calls), std::memory_order_relaxed);
  counters.bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  counters.ns.fetch_add(ns.count(), std::memory_order_relaxed);
  counters.lock_ns.fetch_add(lock_.waited().count(), std::memory_order_relaxed);
}

TotalsByKind hdf5_totals() {
  TotalsByKind totals;
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    const Counters& counters = all_counters()[kind];
    const std::int64_t calls = counters.calls.load(std::memory_order_relaxed);
    if (calls > 0)
      totals[kKinds[kind]] = {calls, counters.bytes.load(std::memory_order_relaxed), seconds_of(counters.ns),
                              seconds_of(counters.lock_ns)};
  }
  return totals;
}

TotalsByKind hdf5_totals_since(const TotalsByKind& before) {
  TotalsByKind since = hdf5_totals();
  for (const auto& [kind, totals] : before) {
    FileTotals& left = since[kind];
    left.calls -= totals.calls;
    left.bytes -= totals.bytes;
    left.seconds -= totals.seconds;
    left.lock_seconds -= totals.lock_seconds;
  }
  std::erase_if(since, [](const auto& kind) { return kind.second.calls == 0; });
  return since;
}

}  // namespace multicard
