#include "share/LinkMeasurement.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "scheduling/model/StepTimeModel.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

TEST(LinkMeasurement, FitsTheSameLinksOnAllRanks) {
  const ShareMachine machine = measure_machine(world(), find_topology(world()), at::kCPU);

  EXPECT_EQ(machine.nodes, std::vector<int>(static_cast<std::size_t>(world().size()))) << "all on the node of rank 0";
  if (world().size() == 1) {
    EXPECT_TRUE(machine.links.empty());
    return;
  }
  ASSERT_EQ(machine.links.size(), static_cast<std::size_t>(StepTerm::count));
  const std::optional<double>& of_a_byte = machine.links[static_cast<std::size_t>(StepTerm::local_volume)];
  ASSERT_TRUE(of_a_byte);
  EXPECT_GT(*of_a_byte, 1e-13) << "10 TB/s";
  EXPECT_LT(*of_a_byte, 1e-5) << "0.1 MB/s";
  EXPECT_FALSE(machine.links[static_cast<std::size_t>(StepTerm::global_volume)]) << "there is one node";
  for (const auto& value : machine.links)
    EXPECT_EQ(world().allreduce(value.value_or(-1), ReduceOp::max), value.value_or(-1));
}

}  // namespace
}  // namespace multicard
