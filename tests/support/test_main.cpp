// Runs GoogleTest under MPI: a test that was started on another number of ranks than CMake says fails, every rank
// prints only its failures (rank 0 everything), and the process fails when any rank failed.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "base/Log.hpp"
#include "support/test_world.hpp"

namespace {

multicard::Mpi* g_mpi = nullptr;

class FailuresOnly : public testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed())
      std::fprintf(stderr, "rank %d: %s:%d: %s\n", multicard::test::world().rank(),
                   result.file_name() ? result.file_name() : "?", result.line_number(), result.summary());
  }
};

}  // namespace

const multicard::Communicator& multicard::test::world() {
  return g_mpi->world();
}

int main(int argc, char** argv) {
  multicard::Mpi mpi(argc, argv);
  g_mpi = &mpi;
  testing::InitGoogleTest(&argc, argv);
  const int size = mpi.world().size();
  const char* expected = std::getenv("MULTICARD_TEST_RANKS");
  if (expected && std::atoi(expected) != size) {
    std::fprintf(stderr, "this test wants %s ranks and got %d\n", expected, size);
    return 1;
  }
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (mpi.world().rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  const int failed = RUN_ALL_TESTS();
  return mpi.world().allreduce(failed, multicard::ReduceOp::max);
}
