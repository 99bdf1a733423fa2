#include "scheduling/plan/PlanOptions.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace multicard {
namespace {

PlanOptions read(const std::string& text) {
  return read_plan_options(Deck::parse(text, "plan.yaml"));
}

TEST(PlanOptions, ReadsAWholeDeck) {
  const PlanOptions options = read(
      "machine: {nodes: 2, gpus_per_node: 8, memory_gb: 80}\n"
      "objective: fairness\n"
      "tasks:\n"
      "  - {name: a, table: a.csv, layout: elasticflow, batch: 64, work: 10, weight: 2}\n"
      "  - {name: b, results: b.h5}\n"
      "static_only: true\n");

  ASSERT_EQ(options.machines.size(), 1U);
  EXPECT_EQ(options.machines[0].gpus(), 16);
  EXPECT_EQ(options.machines[0].memory_gb, 80);
  EXPECT_EQ(options.objective, Objective::fairness);
  EXPECT_EQ(options.kind, ScheduleKind::static_split);
  ASSERT_EQ(options.tasks.size(), 2U);
  EXPECT_EQ(options.tasks[0].layout, TableLayout::elasticflow);
  EXPECT_EQ(options.tasks[0].batch, 64);
  EXPECT_EQ(options.tasks[0].weight, 2);
  EXPECT_EQ(options.tasks[1].results, "b.h5");
  EXPECT_EQ(options.tasks[1].work, 0);
}

TEST(PlanOptions, TakesAListOfGpusForMachinesOfOneNode) {
  const PlanOptions options = read("machine: {gpus: [4, 8]}\ntasks: [{name: a, table: a.csv, work: 1}]\n");

  ASSERT_EQ(options.machines.size(), 2U);
  EXPECT_EQ(options.machines[1].gpus(), 8);
  EXPECT_EQ(options.machines[1].nodes, 1);
  EXPECT_EQ(options.objective, Objective::makespan);
}

TEST(PlanOptions, NamesTheTaskOfAWrongKey) {
  const auto wrong = [] {
    read("machine: {gpus: 4}\ntasks: [{name: a, table: a, work: 1}, {name: b, tabel: b, work: 1}]");
  };
  const std::string message = test::message_of<UsageError>(wrong);
  EXPECT_NE(message.find("tasks.2.tabel"), std::string::npos) << message;
  EXPECT_NE(message.find("Did you mean table?"), std::string::npos) << message;
}

TEST(PlanOptions, RefusesWeightsThatSumsWouldNotHold) {
  const auto wrong = [] { read("machine: {gpus: 4}\ntasks: [{name: a, table: a, work: 1, weight: 1e308}]"); };
  EXPECT_NE(test::message_of<UsageError>(wrong).find("tasks.1.weight"), std::string::npos);
}

}  // namespace
}  // namespace multicard
