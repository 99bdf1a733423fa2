// Seeds ATen's generator before each test: its own first seed is another one in every process, and a test that fails
// for one of millions of inputs should fail every time. A part of every test program that links LibTorch.
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace {

class SeedEachTest : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { at::manual_seed(1); }
};

class Seeds : public testing::Environment {
  void SetUp() override { testing::UnitTest::GetInstance()->listeners().Append(new SeedEachTest); }
};

const testing::Environment* const g_seeds = testing::AddGlobalTestEnvironment(new Seeds);

}  // namespace
