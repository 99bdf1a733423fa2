#pragma once
/// \file What this process has called of MPI.

#include <cstdint>
#include <map>
#include <string>

namespace multicard {

/// Calls of one function.
struct MpiTotals {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;  ///< that this rank handed over; of a function that only receives those that it took
  std::int64_t ns = 0;     ///< inside the function, waiting for other ranks included
};

using MpiTotalsByFunction = std::map<std::string, MpiTotals>;  ///< by name: "MPI_Allreduce"

/// Messages, collectives and writes of the program's own since the process began, over all threads; also those that
/// failed. Neither what libraries call (HDF5, NCCL) nor creating and freeing communicators counts. Any thread, also
/// while others call MPI.
MpiTotalsByFunction mpi_totals();

/// mpi_totals() less what it was before.
MpiTotalsByFunction mpi_totals_since(const MpiTotalsByFunction& before);

}  // namespace multicard
