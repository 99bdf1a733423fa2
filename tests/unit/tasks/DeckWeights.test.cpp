// Tuning a model that is a config.json alone.
#include "tasks/options/DeckWeights.hpp"

#include <cmath>
#include <filesystem>

#include <ATen/ops/mean.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/std.h>

#include "nn/language/LanguageFactory.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "support/language_run.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;

using test::ScratchFolder;
using test::train;
using test::Trained;
using test::world;

class RandomWeights : public testing::Test {
 protected:
  RandomWeights() {
    test::write_oracle_shards(scratch_);
    if (world().is_root()) {
      fs::create_directory(shape());
      fs::copy_file(fs::path(test::kModelFolder) / "config.json", fs::path(shape()) / "config.json");
    }
    world().barrier();
  }

  std::string shape() const { return scratch_ / "shape"; }

  RunOptions recipe() const {
    RunOptions options = test::oracle_recipe(scratch_, "fp32");
    options.model.path = shape();
    options.model.adapter.reset();
    options.model.random_weights = true;
    options.method.rank = 4;
    options.method.alpha = 8;
    options.method.rslora = false;
    options.method.targets = {"all-linear"};
    options.run.steps = 4;
    return options;
  }

  static std::vector<double> losses(const Trained& trained) {
    return trained.result.summary.metrics.at("train_loss").values;
  }

  ScratchFolder scratch_;
};

TEST_F(RandomWeights, AreTheSameOnAllRanks) {
  const std::vector<double> alone = losses(train(recipe(), Communicator::null()));

  const std::vector<double> together = losses(train(recipe(), world()));

  ASSERT_EQ(together.size(), 4u);
  EXPECT_NEAR(alone.front(), std::log(2048.0), 0.1);  // nothing is known yet
  for (std::size_t i = 0; i < alone.size(); ++i)
    EXPECT_NEAR(together[i], alone[i], 1e-5) << i;
}

TEST_F(RandomWeights, AreThoseOfTheSeedWhenARunGoesOn) {
  const std::vector<double> whole = losses(train(recipe(), world()));
  RunOptions options = recipe();
  options.run.output = scratch_ / "resumed";
  options.run.keep_checkpoints = 1;
  options.schedule.total_steps = 4;
  options.run.steps = 2;
  train(options, world());
  options.run.steps = 4;

  const std::vector<double> resumed = losses(train(options, world()));

  EXPECT_EQ(resumed, whole);
}

TEST_F(RandomWeights, AreDrawnInTheTypeOfTheDeckFromSeedAndName) {
  const auto drawn = [&](at::ScalarType dtype, std::uint64_t seed) {
    return load_network(shape(), dtype, at::kCPU, seed)->weights();
  };
  const NamedTensors wide = drawn(at::kFloat, 3), narrow = drawn(at::kBFloat16, 3), other = drawn(at::kFloat, 4);

  for (std::size_t i = 0; i < wide.size(); ++i) {
    const at::Tensor value = wide[i].tensor.detach();
    EXPECT_TRUE(narrow[i].tensor.detach().equal(value.to(at::kBFloat16))) << wide[i].name;
    if (value.dim() == 1) {
      EXPECT_TRUE(value.equal(at::ones_like(value))) << wide[i].name;
      continue;
    }
    EXPECT_NEAR(value.std().item<double>(), 0.02, 0.001) << wide[i].name;
    EXPECT_NEAR(value.mean().item<double>(), 0.0, 0.001) << wide[i].name;
    EXPECT_FALSE(value.equal(other[i].tensor)) << wide[i].name;
    for (std::size_t j = 0; j < i; ++j)  // other shapes differ too
      EXPECT_FALSE(value.equal(wide[j].tensor)) << wide[j].name;
  }
}

TEST_F(RandomWeights, HaveANameOfTheirOwn) {
  const std::string name = sha256_of_random_weights(shape(), 3, at::kFloat);

  EXPECT_EQ(name, sha256_of_random_weights(shape(), 3, at::kFloat));
  EXPECT_NE(name, sha256_of_random_weights(shape(), 4, at::kFloat));
  EXPECT_NE(name, sha256_of_random_weights(shape(), 3, at::kBFloat16));
}

TEST_F(RandomWeights, AreNotDrawnUnlessAskedFor) {
  RunOptions options = recipe();
  options.model.random_weights = false;

  EXPECT_THROW(train(options, world()), Error);
}

}  // namespace
}  // namespace multicard
