#include "results/Provenance.hpp"

#include "base/BuildInfo.hpp"
#include "base/Secrets.hpp"
#include "base/System.hpp"
#include "comm/Mpi.hpp"
#include "io/Hdf5.hpp"

namespace multicard {

Provenance collect_provenance(const Communicator& communicator, const std::string& command_line) {
  const BuildInfo build = build_info();
  Provenance found;
  // Results are published: what a shell has put into the command line must not be among them.
  found.command_line = without_secrets(command_line);
  found.hosts = communicator.allgather(host_name());
  found.cpu = cpu_model();
  found.mpi = mpi_version();
  found.hdf5 = hdf5_version();
  found.torch = build.torch;
  found.kernel = kernel_version();
  found.compiler = build.compiler;
  found.build_flags = build.flags;
  found.environment = environment_with({"SLURM_", "NCCL_", "OMPI_", "OMP_", "HDF5_", "CUDA_", "MULTICARD_"});
  return found;
}

}  // namespace multicard
