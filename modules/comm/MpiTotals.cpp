#include "comm/MpiTotals.hpp"

#include <array>
#include <atomic>
#include <chrono>

#include "comm/Native.hpp"

namespace multicard {

namespace {

// In the order of MpiFunction.
constexpr std::array<const char*, 18> kNames{
    "MPI_Allgather", "MPI_Allgatherv", "MPI_Allreduce", "MPI_Alltoallv", "MPI_Barrier",           "MPI_Bcast",
    "MPI_Gatherv",   "MPI_Ibarrier",   "MPI_Iprobe",    "MPI_Irecv",     "MPI_File_write_at_all", "MPI_Isend",
    "MPI_Recv",      "MPI_Send",       "MPI_Sendrecv",  "MPI_Test",      "MPI_Testsome",          "MPI_Waitall"};
static_assert(kNames.size() == static_cast<std::size_t>(MpiFunction::waitall) + 1);

struct Counters {
  std::atomic<std::int64_t> calls{0}, bytes{0}, ns{0};
};

// Without a constructor that runs late or a destructor: threads call MPI while static objects come and go.
constinit std::array<Counters, kNames.size()> counters;

}  // namespace

const char* name_of(MpiFunction function) {
  return kNames[static_cast<std::size_t>(function)];
}

MpiCallTimer::~MpiCallTimer() {
  const std::chrono::nanoseconds ns = SteadyClock::now() - start_;
  Counters& of = counters[static_cast<std::size_t>(function_)];
  of.calls.fetch_add(1, std::memory_order_relaxed);
  of.bytes.fetch_add(static_cast<std::int64_t>(bytes_), std::memory_order_relaxed);
  of.ns.fetch_add(ns.count(), std::memory_order_relaxed);
}

MpiTotalsByFunction mpi_totals() {
  MpiTotalsByFunction totals;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const MpiTotals of{.calls = counters[i].calls.load(std::memory_order_relaxed),
                       .bytes = counters[i].bytes.load(std::memory_order_relaxed),
                       .ns = counters[i].ns.load(std::memory_order_relaxed)};
    if (of.calls > 0) totals[kNames[i]] = of;
  }
  return totals;
}

MpiTotalsByFunction mpi_totals_since(const MpiTotalsByFunction& before) {
  MpiTotalsByFunction since = mpi_totals();
  for (const auto& [name, totals] : before) {
    MpiTotals& left = since[name];
    left.calls -= totals.calls;
    left.bytes -= totals.bytes;
    left.ns -= totals.ns;
  }
  std::erase_if(since, [](const auto& function) { return function.second.calls == 0; });
  return since;
}

}  // namespace multicard
