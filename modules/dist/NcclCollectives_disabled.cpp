#include "base/Error.hpp"
#include "dist/NcclCollectives.hpp"

namespace multicard {

std::unique_ptr<TensorCollectives> make_nccl_collectives(const Communicator&, at::Device) {
  throw EnvironmentError("parallel.backend is nccl, but this multicard was built without its GPU path", "",
                         "Build with a CUDA toolkit and the CMake option MULTICARD_CUDA=ON, or set "
                         "parallel.backend=mpi.")
      .on_all_ranks();
}

}  // namespace multicard
