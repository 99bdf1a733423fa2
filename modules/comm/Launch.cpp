#include "comm/Launch.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

namespace multicard {

namespace {

constexpr const char* kHydra = "mpiexec of MPICH or Intel MPI";
constexpr const char* kMvapich = "the launcher of MVAPICH";
constexpr const char* kPals = "mpiexec of Cray PALS";
constexpr const char* kSlurm = "srun";

/// A variable that counts processes, or that numbers this one among them: then there are at least one more.
struct Indicator {
  const char* variable;
  const char* launcher;
  int more = 0;
};

/// The first that finds two processes counts. Hydra may start its own daemons by srun, and srun with --mpi=pmi2 sets
/// PMI_SIZE: so Hydra's own variables come before Slurm's, and PMI's after them.
constexpr std::array<Indicator, 12> kIndicators{{{"MV2_COMM_WORLD_SIZE", kMvapich},
                                                 {"MVP_COMM_WORLD_SIZE", kMvapich},
                                                 {"MV2_COMM_WORLD_RANK", kMvapich, 1},
                                                 {"MPIRUN_NPROCS", kMvapich},
                                                 {"MPI_LOCALNRANKS", kHydra},
                                                 {"PALS_LOCAL_SIZE", kPals},
                                                 {"PALS_RANKID", kPals, 1},
                                                 {"SLURM_STEP_NUM_TASKS", kSlurm},
                                                 {"SLURM_PROCID", kSlurm, 1},
                                                 {"PMI_SIZE", kHydra},
                                                 {"PMI_RANK", kHydra, 1},
                                                 {"MPI_LOCALRANKID", kHydra, 1}}};

int number(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

Launch read_launch(const Variable& variable) {
  Launch launch;
  launch.own_ranks = number(variable("OMPI_COMM_WORLD_SIZE"));
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_FD", "PMI_PORT"})
    if (variable(name) != nullptr) launch.offers_connection = true;
  for (const Indicator& one : kIndicators) {
    const int value = number(variable(one.variable));
    if (value + one.more < 2 || value < 1) continue;
    launch.processes = std::max(value + one.more, number(variable("PMI_SIZE")));  // not this node's alone
    launch.launcher = one.launcher;
    launch.indicator = fmt::format("{}={}", one.variable, value);
    break;
  }
  return launch;
}

std::optional<Error> why_started_apart(const Launch& launch, const std::string& mpi) {
  if (launch.own_ranks == 1) return std::nullopt;
  if (launch.own_ranks > 1)
    return EnvironmentError(
        fmt::format("this process is one MPI rank alone, of {} that mpirun has started", launch.own_ranks),
        fmt::format("that mpirun does not fit {}, which multicard uses", mpi),
        "Start with the mpirun of the Open MPI that multicard was built with.");
  if (launch.processes < 2) return std::nullopt;
  if (launch.launcher == kSlurm)
    return EnvironmentError(fmt::format("this is one MPI rank in a Slurm step of {} tasks", launch.processes),
                            fmt::format("{}; srun did not hand the tasks to {}", launch.indicator, mpi),
                            "Start with srun --mpi=pmix, or with Open MPI's mpirun.");
  return EnvironmentError(
      fmt::format("this process is one MPI rank alone, of {} that {} has started", launch.processes, launch.launcher),
      fmt::format("{}; multicard uses {}", launch.indicator, mpi),
      "Start with Open MPI's mpirun, or under Slurm with srun --mpi=pmix.");
}

}  // namespace multicard
