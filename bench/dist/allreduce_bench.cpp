// Collectives of host tensors over ranks: sums in shared and in ordinary memory and in 16 bits, reductions to rank 0,
// broadcasts and scattered rows, compared with MPI's own.
//   mpirun -n 2 allreduce_bench [MB ...] [all-reduce]     (default 0.25 1 4 14 56; MB of float32; the last word: only
//   the
//                                                          sum in shared memory)
// A line for each operation: bytes that are sent, median time of the slowest rank, bus bandwidth after nccl-tests, and
// the time divided by that of the sum in shared memory: the median of the quotients of neighbouring repeats, which
// leaves out what else the machine does.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>

#include "base/Clock.hpp"
#include "comm/Mpi.hpp"
#include "comm/Native.hpp"
#include "dist/TensorCollectives.hpp"

namespace {

using namespace multicard;

struct Operation {
  std::string name;
  double megabytes;   ///< 1e6 bytes of payload
  double bus_factor;  ///< bus bytes of a byte of payload
  std::function<void()> run;
  std::vector<double> seconds;  ///< of the slowest rank
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Takes turns, so that all operations meet the same machine.
void measure(const Communicator& world, std::vector<Operation>& operations, int repeats) {
  for (int i = 0; i < repeats + 2; ++i)
    for (Operation& operation : operations) {
      world.barrier();
      const TimePoint start = SteadyClock::now();
      operation.run();
      const double slowest = world.allreduce(seconds_since(start), ReduceOp::max);
      if (i >= 2) operation.seconds.push_back(slowest);
    }
}

void print(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    std::vector<double> quotients;
    for (std::size_t i = 0; i < operation.seconds.size(); ++i)
      quotients.push_back(operation.seconds[i] / operations[0].seconds[i]);
    const double seconds = median(operation.seconds);
    std::printf("%-24s %9.3f MB %9.3f ms %7.2f GB/s %6.2f\n", operation.name.c_str(), operation.megabytes,
                1e3 * seconds, operation.bus_factor * operation.megabytes * 1e-3 / seconds, median(quotients));
  }
  std::printf("\n");
}

std::vector<Operation> operations_on(const Communicator& world, TensorCollectives& collectives, double megabytes) {
  const auto numel = static_cast<std::int64_t>(megabytes * 1e6 / 4);
  const double ranks = world.size(), around = 2 * (ranks - 1) / ranks;
  const at::Tensor shared = collectives.allocate_flat(numel, at::kFloat);
  const at::Tensor loose = at::zeros({numel}), plain = at::zeros({numel}), mine = at::zeros({numel / world.size()});
  const std::vector<std::int64_t> rows(static_cast<std::size_t>(world.size()), mine.numel());
  const at::Tensor all = at::zeros({mine.numel() * world.size()});
  const auto all_reduce = [&collectives](const at::Tensor& flat, CommDtype comm_dtype, std::optional<int> root) {
    return [=, &collectives] { collectives.start_all_reduce(flat, {comm_dtype, root})->wait(); };
  };
  const int count = static_cast<int>(numel);
  return {
      {"all-reduce", megabytes, around, all_reduce(shared, CommDtype::same, std::nullopt), {}},
      {"all-reduce in bf16", megabytes / 2, around, all_reduce(shared, CommDtype::bf16, std::nullopt), {}},
      {"all-reduce in fp16", megabytes / 2, around, all_reduce(shared, CommDtype::fp16, std::nullopt), {}},
      {"all-reduce, ordinary memory", megabytes, around, all_reduce(loose, CommDtype::same, std::nullopt), {}},
      {"MPI_Allreduce",
       megabytes,
       around,
       [=, &world] {
         check_mpi(MPI_Allreduce(MPI_IN_PLACE, plain.data_ptr(), count, MPI_FLOAT, MPI_SUM, native(world)), "");
       },
       {}},
      {"reduce", megabytes, 1, all_reduce(shared, CommDtype::same, 0), {}},
      {"reduce in bf16", megabytes / 2, 1, all_reduce(shared, CommDtype::bf16, 0), {}},
      {"broadcast", megabytes, 1, [=, &collectives] { collectives.broadcast({plain}, 0); }, {}},
      {"MPI_Bcast",
       megabytes,
       1,
       [=, &world] { check_mpi(MPI_Bcast(plain.data_ptr(), count, MPI_FLOAT, 0, native(world)), ""); },
       {}},
      {"scatter",
       megabytes,
       (ranks - 1) / ranks,
       [=, &collectives] { collectives.scatter_rows(all, mine, rows, 0); },
       {}},
      {"MPI_Scatter",
       megabytes,
       (ranks - 1) / ranks,
       [=, &world] {
         const int part = static_cast<int>(mine.numel());
         check_mpi(MPI_Scatter(all.data_ptr(), part, MPI_FLOAT, mine.data_ptr(), part, MPI_FLOAT, 0, native(world)),
                   "");
       },
       {}},
  };
}

}  // namespace

int main(int argc, char** argv) {
  Mpi mpi(argc, argv);
  const auto collectives = make_collectives(Backend::mpi, mpi.world(), at::kCPU);
  std::vector<double> sizes;
  bool only_first = false;
  for (int i = 1; i < argc; ++i)
    if (argv[i] == std::string("all-reduce"))
      only_first = true;
    else
      sizes.push_back(std::atof(argv[i]));
  if (sizes.empty()) sizes = {0.25, 1, 4, 14, 56};
  if (mpi.world().is_root())
    std::printf("%-24s %12s %12s %12s %6s\n", "operation", "sent", "median", "bus", "time/sum");
  for (const double megabytes : sizes) {
    std::vector<Operation> operations = operations_on(mpi.world(), *collectives, megabytes);
    if (only_first) operations.erase(operations.begin() + 1, operations.end());
    measure(mpi.world(), operations, megabytes > 2 ? 25 : 100);
    if (mpi.world().is_root()) print(operations);
  }
}
