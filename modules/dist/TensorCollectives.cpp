#include "dist/TensorCollectives.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "dist/MpiCollectives.hpp"
#include "dist/NcclCollectives.hpp"
#include "dist/NullCollectives.hpp"

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
                                                    at::Device device) {
  agreed(communicator, [&] { check_fit(backend, device); });
  if (communicator.is_null() || (backend == Backend::automatic && communicator.size() == 1))
    return std::make_unique<NullCollectives>(device);
  if (device.is_cuda()) return make_nccl_collectives(communicator, device);
  return std::make_unique<MpiCollectives>(communicator, communicator.split_by_node());
}

}  // namespace multicard
