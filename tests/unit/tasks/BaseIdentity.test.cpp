// The hash of a base model that ranks compute together.
#include "tasks/language/BaseIdentity.hpp"

#include <filesystem>

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "state/ShardedWriter.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

/// Of five files, more than there are ranks.
class BaseIdentityOfFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto tensor_of = [](const std::string& name) { return at::full({4}, static_cast<double>(name[0])); };
    std::vector<TensorHeader> headers;
    for (const char* name : {"a", "b", "c", "d", "e"})
      headers.push_back({name, *safetensors_dtype(at::kFloat), {4}});
    if (world().is_root()) {
      std::filesystem::create_directories(folder_);
      write_weights(folder_, headers, tensor_of, 16);
    }
    world().barrier();
    hash_ = ModelFolder::open(folder_).sha256();
  }
  BaseIdentity identity() const { return {folder_, std::nullopt, at::kFloat}; }

  test::ScratchFolder scratch_;
  std::string folder_ = scratch_ / "m", hash_;
};

TEST_F(BaseIdentityOfFiles, IsThatOfTheWholeFolder) {
  BaseIdentity found = identity();
  found.start(world());
  EXPECT_FALSE(found.sha256());

  found.finish(world());
  EXPECT_EQ(found.sha256(), hash_);
  found.finish(world());
  EXPECT_EQ(found.sha256(), hash_);
}

TEST_F(BaseIdentityOfFiles, IsToldToRanksThatHaveNotStarted) {
  BaseIdentity found = identity();
  if (world().is_root()) {
    found.start(Communicator::null());
    found.finish(Communicator::null());
  }

  found.finish(world());

  EXPECT_EQ(found.sha256(), hash_);
}

/// Their parts leave out files.
TEST_F(BaseIdentityOfFiles, IsCompletedWherePartsWereStartedAmongOtherRanks) {
  BaseIdentity found = identity();
  if (world().is_root()) found.start(world());

  found.finish(world());

  EXPECT_EQ(found.sha256(), hash_);
}

TEST_F(BaseIdentityOfFiles, AFileThatIsGoneIsAnErrorOfAllRanks) {
  BaseIdentity found = identity();
  world().barrier();
  if (world().is_root()) std::filesystem::remove(folder_ + "/model-00005-of-00005.safetensors");
  world().barrier();

  EXPECT_THROW(found.finish(world()), Error);
}

TEST(BaseIdentity, OfRandomWeightsIsThatOfTheirSeed) {
  const std::string folder = test::source_path("tests/data/models/tinystories-656K").string();
  BaseIdentity found(folder, 7, at::kFloat);
  found.start(world());
  found.finish(world());

  EXPECT_EQ(found.sha256(), sha256_of_random_weights(folder, 7, at::kFloat));
}

}  // namespace
}  // namespace multicard
