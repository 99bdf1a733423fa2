#pragma once
/// \file The lifetime of MPI in this process and the one place that aborts a job.

#include <optional>
#include <string>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"
#include "comm/Heartbeat.hpp"

namespace multicard {

/// Initialises MPI with full thread support on construction and ends it on destruction; make one in main, before
/// anything that communicates. While it exists a rank that stops answering ends the job with 5. \throws
/// EnvironmentError in a world of one rank of a process that a launcher has started together with others (Launch.hpp)
class Mpi {
 public:
  Mpi(int& argc, char**& argv);
  ~Mpi();
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  const Communicator& world() const { return world_; }

 private:
  Communicator world_;
  std::optional<Heartbeat> heartbeat_;
};

/// The number of this process among those of the job on its node, whatever communicator it works on; 0 without MPI.
int job_local_rank();

/// "Open MPI v4.1.4, ..."
std::string mpi_version();

/// Removes what this rank has half-written (AbortRemovals.hpp) and ends all ranks of the job with `code`.
[[noreturn]] void abort_job(ExitCode code);

}  // namespace multicard
