// Seeds ATen's generator before each test: its own first seed is another one in every process, and a test that fails
// for one of millions of inputs should fail every time. A part of every test program that links LibTorch.
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

namespace {

class SeedEachTest : public testing::EmptyTestEventListener {
  // at::manual_seed() would ask for GPUs before the program has loaded LibTorch's GPU libraries.
  void OnTestStart(const testing::TestInfo&) override {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    generator.set_current_seed(1);
  }
};

class Seeds : public testing::Environment {
  void SetUp() override { testing::UnitTest::GetInstance()->listeners().Append(new SeedEachTest); }
};

const testing::Environment* const g_seeds = testing::AddGlobalTestEnvironment(new Seeds);

}  // namespace
