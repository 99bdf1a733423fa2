#include "dist/TensorCollectives.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "dist/MpiCollectives.hpp"
#include "dist/NcclCollectives.hpp"
#include "dist/NullCollectives.hpp"
#include "dist/SilentCollectives.hpp"

namespace multicard {

namespace {

void check_fit(Backend backend, at::Device device) {
  if (backend == Backend::mpi && device.is_cuda())
    throw UsageError("parallel.backend is mpi, but the tensors are on a GPU", "this MPI moves host memory only",
                     "Set parallel.backend=nccl, or run.device=cpu.");
  if (backend == Backend::nccl && device.is_cpu())
    throw UsageError("parallel.backend is nccl, but the tensors are on the CPU", "NCCL moves GPU memory only",
                     "Set parallel.backend=mpi, or run.device=cuda.");
}

}  // namespace

std::unique_ptr<TensorCollectives> make_collectives(Backend backend, const Communicator& communicator,
                                                    at::Device device, Hierarchy hierarchy) {
  agreed(communicator, [&] { check_fit(backend, device); });
  if (backend == Backend::none) {
    if (communicator.rank() == 0)
      log_warning("parallel.backend is none: ranks do not exchange gradients, and what is learnt means nothing");
    return std::make_unique<SilentCollectives>(make_collectives(Backend::automatic, communicator, device, hierarchy));
  }
  if (communicator.is_null() || (backend == Backend::automatic && communicator.size() == 1))
    return std::make_unique<NullCollectives>(device);
  if (device.is_cuda()) return make_nccl_collectives(communicator, device);
  // Flat: each rank is a node of its own.
  return std::make_unique<MpiCollectives>(
      communicator, hierarchy == Hierarchy::nodes ? communicator.split_by_node()
                                                  : communicator.split(communicator.rank(), 0, Watched::together));
}

}  // namespace multicard
