// Sums of float32 over ranks: multicard's (in shared memory, and from ordinary memory) against MPI_Allreduce.
// One line a size: median over repeats of the slowest rank's time.
//   mpirun -n 2 allreduce_bench [MB ...]            (default 0.004 0.25 1 4 14 56)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <ATen/ops/zeros.h>

#include "base/Clock.hpp"
#include "comm/Mpi.hpp"
#include "comm/Native.hpp"
#include "dist/TensorCollectives.hpp"

namespace {

using namespace multicard;

double median_s(const Communicator& world, int repeats, const std::function<void()>& operation) {
  std::vector<double> times;
  for (int i = 0; i < repeats + 2; ++i) {
    world.barrier();
    const TimePoint start = SteadyClock::now();
    operation();
    const double slowest = world.allreduce(seconds_since(start), ReduceOp::max);
    if (i >= 2) times.push_back(slowest);
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

void measure(const Communicator& world, TensorCollectives& collectives, double megabytes) {
  const auto numel = static_cast<std::int64_t>(megabytes * 1e6 / 4);
  const int repeats = megabytes > 2 ? 25 : 100;
  const at::Tensor shared = collectives.allocate_flat(numel, at::kFloat);
  const at::Tensor loose = at::zeros({numel}), plain = at::zeros({numel});
  const double shared_s = median_s(world, repeats, [&] { collectives.start_sum(shared, {})->wait(); });
  const double loose_s = median_s(world, repeats, [&] { collectives.sum(loose); });
  const double mpi_s = median_s(world, repeats, [&] {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, plain.data_ptr(), static_cast<int>(numel), MPI_FLOAT, MPI_SUM, native(world)),
              "MPI_Allreduce");
  });
  if (world.is_root())
    std::printf("%8.3f MB   shared %8.3f ms (%5.2f GB/s)   ordinary %8.3f ms   MPI_Allreduce %8.3f ms   ratio %.2f\n",
                megabytes, 1e3 * shared_s, megabytes * 1e-3 / shared_s, 1e3 * loose_s, 1e3 * mpi_s, mpi_s / shared_s);
}

}  // namespace

int main(int argc, char** argv) {
  Mpi mpi(argc, argv);
  const auto collectives = make_collectives(Backend::mpi, mpi.world(), at::kCPU);
  std::vector<double> sizes{0.004, 0.25, 1, 4, 14, 56};
  if (argc > 1) sizes.clear();
  for (int i = 1; i < argc; ++i)
    sizes.push_back(std::atof(argv[i]));
  for (const double megabytes : sizes)
    measure(mpi.world(), *collectives, megabytes);
}
