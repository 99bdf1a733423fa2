#pragma once
/// \file Who has started this process, and what Open MPI needs to start alone.

#include <functional>
#include <optional>
#include <string>

#include "base/Error.hpp"

namespace multicard {

/// Returns the value of an environment variable, or nullptr.
using Variable = std::function<const char*(const char* name)>;

/// What launchers say of this process. Read it before MPI is initialised, which sets variables of its own.
struct Launch {
  int own_ranks = 0;      ///< ranks that an mpirun of Open MPI has started; 0 without one
  int processes = 0;      ///< processes that another launcher has started together, at least; 0 without one
  std::string launcher;   ///< that launcher
  std::string indicator;  ///< the variable that says so, NAME=VALUE
  /// Whether a launcher offers to connect the processes, in a way that MPI may understand. Under srun without any, Open
  /// MPI ends the process while it starts.
  bool offers_connection = false;
};

/// Knows Open MPI, MPICH (Hydra), Intel MPI, MVAPICH, Cray PALS and Slurm.
Launch read_launch(const Variable& variable);

/// Why a process whose world has one rank must not work: each of the processes that were started together would do all
/// the work, and write the same files. Nothing where it was started alone, or by Open MPI's mpirun as the only rank;
/// what an outer launcher has left in the environment does not count then.
/// \param mpi the MPI of this program, e.g. "Open MPI v4.1.4"
std::optional<Error> why_started_apart(const Launch& launch, const std::string& mpi);

}  // namespace multicard
