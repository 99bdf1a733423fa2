// A rank that runs out of memory while a run is set up ends the run on all ranks: none waits for it.
#include <csignal>
#include <optional>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/resource.h>

#include "support/language_run.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

/// For its lifetime LibTorch's allocator, but that the nth tensor of some size finds no memory.
class FailingAllocator final : public c10::Allocator {
 public:
  explicit FailingAllocator(int nth) : from_(*c10::GetAllocator(c10::kCPU)), left_(nth) {
    c10::SetAllocator(c10::kCPU, this, kPriority);
  }
  ~FailingAllocator() override { c10::SetAllocator(c10::kCPU, &from_, kPriority); }
  FailingAllocator(const FailingAllocator&) = delete;
  FailingAllocator& operator=(const FailingAllocator&) = delete;

  c10::DataPtr allocate(std::size_t bytes) override {
    constexpr std::size_t kLarge = 16 << 10;
    if (bytes >= kLarge && --left_ == 0) TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory");
    return from_.allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return from_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { from_.copy_data(to, from, bytes); }

 private:
  static constexpr std::uint8_t kPriority = 255;
  c10::Allocator& from_;
  int left_;
};

/// For its lifetime the ranks of a node get no memory together that is larger than what opening a file takes.
class NoSharedMemory {
 public:
  NoSharedMemory() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{100 << 10, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~NoSharedMemory() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  NoSharedMemory(const NoSharedMemory&) = delete;
  NoSharedMemory& operator=(const NoSharedMemory&) = delete;

 private:
  rlimit before_{};
};

class SetupMemory : public testing::TestWithParam<Shard> {
 protected:
  SetupMemory()
      : options_(test::oracle_recipe(scratch_, "fp32")),
        collectives_(make_collectives(Backend::automatic, world(), at::kCPU)) {
    test::write_oracle_shards(scratch_);
    options_.model.adapter.reset();
    options_.method.name = TuningMethod::full;
    options_.parallel.shard = GetParam();
    options_.run.steps = 1;
    if (GetParam() == Shard::hybrid) options_.parallel.shard_group = 2;
  }

  /// Of a run on whose last rank the nth tensor finds no memory.
  std::optional<Error> error_of_setup(int nth) {
    std::optional<FailingAllocator> allocator;
    if (world().rank() == world().size() - 1) allocator.emplace(nth);
    try {
      const TrainingSetup setup(options_, world(), {nullptr, collectives_});
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }

  /// One tensor after the other, until the set-up has no more.
  void expect_errors_on_all_ranks() {
    int nth = 1;
    while (const std::optional<Error> error = error_of_setup(nth)) {
      EXPECT_EQ(error->code(), ExitCode::environment) << error->what();
      EXPECT_EQ(error->scope(), Scope::all_ranks);
      EXPECT_EQ(error->problem(), "out of memory while the run was set up");
      EXPECT_EQ(world().allreduce(nth, ReduceOp::max), nth);
      ++nth;
    }
    EXPECT_GT(nth, 15) << "weights, gradients, the optimizer's state";
  }

  ScratchFolder scratch_;
  RunOptions options_;
  std::shared_ptr<TensorCollectives> collectives_;
};

TEST_P(SetupMemory, OfOneRankEndsAll) {
  expect_errors_on_all_ranks();
}

TEST_P(SetupMemory, OfOneRankEndsAllWhereNoneIsShared) {
  const NoSharedMemory limit;
  expect_errors_on_all_ranks();
}

INSTANTIATE_TEST_SUITE_P(All, SetupMemory, testing::Values(Shard::none, Shard::optimizer, Shard::full, Shard::hybrid),
                         [](const auto& test) { return std::string(word_of(test.param, kShardWords)); });

}  // namespace
}  // namespace multicard
