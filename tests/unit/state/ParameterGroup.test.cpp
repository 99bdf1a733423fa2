#include "state/ParameterGroup.hpp"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

NamedTensors two_layers() {
  return {
      {"model.layers.0.norm.weight", at::ones({4})},    {"model.layers.0.proj.weight", at::ones({4, 4})},
      {"model.layers.0.proj.bias", at::ones({4})},      {"model.layers.1.proj.weight", at::ones({4, 4}, at::kBFloat16)},
      {"model.layers.1.gate.weight", at::ones({4, 4})}, {"head.weight", at::ones({8, 4})}};
}

std::vector<std::vector<std::size_t>> members_of(const ParameterGroups& groups) {
  std::vector<std::vector<std::size_t>> members;
  for (const ParameterGroup& group : groups.groups())
    members.push_back(group.members);
  return members;
}

TEST(ParameterGroup, TakesTheNameUpToItsFirstNumberForTheBlock) {
  EXPECT_EQ(block_of("model.layers.31.self_attn.q_proj.lora_A.weight"), "model.layers.31");
  EXPECT_EQ(block_of("features.0.0.weight"), "features.0");
  EXPECT_EQ(block_of("model.embed_tokens.weight"), "model.embed_tokens");
  EXPECT_EQ(block_of("layer2.conv1.weight"), "layer2.conv1");
  EXPECT_EQ(block_of("weight"), "weight");
}

TEST(ParameterGroup, HasOneTypeAndOneKindOfDecayInEachGroup) {
  const ParameterGroups groups(two_layers(), Decay::matrices);

  EXPECT_EQ(members_of(groups), (std::vector<std::vector<std::size_t>>{{0, 2}, {1}, {3}, {4}, {5}}));
  EXPECT_FALSE(groups.groups()[0].decays);
  EXPECT_TRUE(groups.groups()[1].decays);
  EXPECT_EQ(groups.groups()[2].block, "model.layers.1");
  EXPECT_EQ(groups.groups()[2].dtype, at::kBFloat16);
}

TEST(ParameterGroup, KeepsABlockTogetherWhereAllOfItDecays) {
  EXPECT_EQ(members_of(ParameterGroups(two_layers(), Decay::all)),
            (std::vector<std::vector<std::size_t>>{{0, 1, 2}, {3}, {4}, {5}}));
}

TEST(ParameterGroup, ListsTheTensorsOfOneGroupAfterTheOther) {
  const NamedTensors parameters = two_layers();

  EXPECT_TRUE(ParameterGroups(parameters, Decay::matrices).tensors()[1].is_same(parameters[2].tensor));
}

}  // namespace
}  // namespace multicard
