#pragma once
/// \file The MPI handle inside a Communicator, for the .cpp files of io and dist only.

#include <cstddef>
#include <cstdint>
#include <string>

#include <mpi.h>

#include "base/Clock.hpp"
#include "comm/Communicator.hpp"

namespace multicard {

/// MPI_COMM_SELF for the null communicator when MPI runs, else MPI_COMM_NULL.
MPI_Comm native(const Communicator& communicator);

/// MPI's own text for an error code.
std::string mpi_error_text(int code);

/// Throws CommunicationError naming `call` and MPI's own text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// The functions whose calls are counted (MpiTotals.hpp).
enum class MpiFunction : std::uint8_t {
  allgather,
  allgatherv,
  allreduce,
  alltoallv,
  barrier,
  bcast,
  gatherv,
  ibarrier,
  iprobe,
  irecv,
  file_write_at_all,
  isend,
  recv,
  send,
  sendrecv,
  test,
  testsome,
  waitall
};

/// As in MPI's standard.
const char* name_of(MpiFunction function);

/// Counts one call, which lasts as long as this object.
class MpiCallTimer {
 public:
  MpiCallTimer(MpiFunction function, std::size_t bytes) : function_(function), bytes_(bytes) {}
  ~MpiCallTimer();
  MpiCallTimer(const MpiCallTimer&) = delete;
  MpiCallTimer& operator=(const MpiCallTimer&) = delete;

 private:
  MpiFunction function_;
  std::size_t bytes_;
  TimePoint start_ = SteadyClock::now();
};

/// Counts a call and returns its error code. \param bytes see MpiTotals
template <class Call>
int counted_mpi(MpiFunction function, std::size_t bytes, const Call& call) {
  const MpiCallTimer timer(function, bytes);
  return call();
}

/// counted_mpi() and check_mpi(). The program calls MPI by its own names: a function that defined them would hide the
/// calls from tools that do.
template <class Call>
void call_mpi(MpiFunction function, std::size_t bytes, const Call& call) {
  check_mpi(counted_mpi(function, bytes, call), name_of(function));
}

/// No single transfer above this: larger ones fail or crash in MPI-IO and in some transports.
inline constexpr std::size_t kMaxTransferBytes = std::size_t{1} << 30;

}  // namespace multicard
