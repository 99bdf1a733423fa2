#include "scheduling/replay/ReplayOptions.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace multicard {
namespace {

ReplayOptions read(const std::string& keys) {
  const Deck deck = Deck::parse("replay: {" + keys + "}", "x.yaml");
  Section top(deck);
  Section section = top.section("replay");
  const ReplayOptions options = read_replay_options(section);
  top.finish();
  return options;
}

TEST(ReplayOptions, TakeTheClusterOfTheirLayout) {
  EXPECT_EQ(read("workload: w.csv, traces: t").cluster.nodes, 16);
  EXPECT_EQ(read("workload: w.csv, traces: t, layout: rubick").cluster.gpus_per_node, 8);
  EXPECT_EQ(read("workload: w.csv, traces: t, nodes: 3, gpus_per_node: 2").cluster.gpus(), 6);
}

TEST(ReplayOptions, TakeOnePolicyOrSeveral) {
  EXPECT_EQ(read("workload: w, traces: t, policy: tiresias").policies,
            std::vector<ReplayPolicy>{ReplayPolicy::tiresias});
  EXPECT_EQ(read("workload: w, traces: t, policy: [fifo-backfill, multicard]").policies,
            (std::vector<ReplayPolicy>{ReplayPolicy::fifo_backfill, ReplayPolicy::multicard}));
}

TEST(ReplayOptions, SayWhatIsWrong) {
  EXPECT_THROW(read("traces: t"), UsageError);
  EXPECT_THROW(read("workload: w, traces: t, nodes: 0"), UsageError);
  EXPECT_THROW(read("workload: w, traces: t, layout: rubick, policy: optimus"), UsageError);
  EXPECT_NE(test::message_of<UsageError>([] {
              read("workload: w, traces: t, policy: tiresas");
            }).find("Did you mean tiresias?"),
            std::string::npos);
}

}  // namespace
}  // namespace multicard
