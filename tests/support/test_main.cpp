// Runs GoogleTest under MPI: a test that was started on another number of ranks than CMake says fails, every rank
// prints only its failures (rank 0 everything), and the process fails when any rank failed. Words on the command line
// are names of test files: `test_nn Rope` runs the tests of Rope.test.cpp.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "base/Log.hpp"
#include "comm/Signals.hpp"
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

/// The filter that leaves the tests of these files, given by name without folder and `.test.cpp`.
std::string filter_of_files(int count, char** names) {
  std::string filter;
  for (int n = 0; n < count; ++n) {
    const std::string file = std::string(names[n]) + ".test.cpp";
    bool has_tests = false;
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int i = 0; i < all.total_test_suite_count(); ++i) {
      const testing::TestSuite& suite = *all.GetTestSuite(i);
      for (int j = 0; j < suite.total_test_count(); ++j) {
        const testing::TestInfo& test = *suite.GetTestInfo(j);
        if (std::filesystem::path(test.file()).filename() != file) continue;
        filter += std::string(suite.name()) + "." + test.name() + ":";
        has_tests = true;
      }
    }
    if (!has_tests) throw std::invalid_argument("no tests of " + file + " in this program");
  }
  return filter;
}

}  // namespace

const multicard::Communicator& multicard::test::world() {
  return g_mpi->world();
}

int main(int argc, char** argv) {
  multicard::hold_signals();
  multicard::start_signal_thread();
  multicard::Mpi mpi(argc, argv);
  g_mpi = &mpi;
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) testing::GTEST_FLAG(filter) = filter_of_files(argc - 1, argv + 1);
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
