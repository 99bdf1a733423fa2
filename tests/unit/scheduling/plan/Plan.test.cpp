#include "scheduling/plan/Plan.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "base/Text.hpp"
#include "support/expect_error.hpp"
#include "unit/scheduling/plan/PublishedTables.hpp"

namespace multicard {
namespace {

PlanOptions options_of(std::vector<int> gpus) {
  PlanOptions options;
  for (const int count : gpus)
    options.machines.push_back({1, count});
  for (const char* model : {"vit", "llama7"}) {
    PlanTaskOptions task;
    task.name = model;
    task.table = test::allocation_data(std::string("rubick/") + model + ".csv");
    task.layout = TableLayout::rubick;
    task.work = 1000;
    options.tasks.push_back(task);
  }
  return options;
}

TEST(Plan, IsNoWorseOnALargerMachine) {
  const std::vector<Plan> plans = make_plans(options_of({8, 12, 16, 24, 32, 64}));

  for (std::size_t i = 1; i < plans.size(); ++i)
    EXPECT_LE(plans[i].allocation->value, plans[i - 1].allocation->value * (1 + 1e-9));
}

TEST(Plan, ReportsAMachineThatIsTooSmallAndOneThatIsNot) {
  PlanOptions options = options_of({1, 64});
  const test::ScratchFolder folder;
  options.tasks[1].table = folder / "table.csv";
  options.tasks[1].layout = TableLayout::multicard;
  std::ofstream(options.tasks[1].table) << "gpus,rate\n4,1\n";

  const std::vector<Plan> plans = make_plans(options);

  EXPECT_FALSE(plans[0].allocation);
  EXPECT_FALSE(plans[0].obstacle.empty());
  EXPECT_NE(plan_json(plans[0]).find("\"value\":null"), std::string::npos) << plan_json(plans[0]);
  EXPECT_NE(plan_json(plans[0]).find("\"obstacle\":\"" + plans[0].obstacle + "\""), std::string::npos);
  EXPECT_EQ(plan_json(plans[1]).find("obstacle"), std::string::npos);
  ASSERT_TRUE(plans[1].allocation);
  EXPECT_NE(plan_json(plans[1]).find("\"gpus\":64"), std::string::npos);
}

TEST(Plan, SaysWhatToMeasure) {
  const std::vector<Plan> plans = make_plans(options_of({15}));

  const std::string report = join(plan_report(plans[0]), "\n");

  EXPECT_NE(report.find("measure   llama7 on "), std::string::npos) << report;
}

TEST(Plan, SaysTheValueInItsUnit) {
  PlanOptions options = options_of({16});
  options.objective = Objective::fairness;

  const std::string report = join(plan_report(make_plans(options).front()), "\n");

  const std::size_t value = report.find("value     ");
  ASSERT_NE(value, std::string::npos) << report;
  EXPECT_NE(report.substr(value, report.find('\n', value) - value).find(" % ("), std::string::npos) << report;
  EXPECT_EQ(report.find(" ms)"), std::string::npos) << "how long the solver took is not part of the answer";
}

TEST(Plan, HasItsBoundInJson) {
  const std::string json = plan_json(make_plans(options_of({16})).front());

  EXPECT_NE(json.find("\"bound\":"), std::string::npos);
  EXPECT_NE(json.find("\"gap\":"), std::string::npos);
  EXPECT_NE(json.find("\"search\":\"complete\""), std::string::npos);
}

TEST(Plan, RefusesRatesWithWhichTimesCannotBeComputed) {
  PlanOptions options = options_of({2});
  const test::ScratchFolder folder;
  options.tasks[1].table = folder / "table.csv";
  options.tasks[1].layout = TableLayout::multicard;
  std::ofstream(options.tasks[1].table) << "gpus,rate\n1,0\n2,1e-300\n";

  const std::string said = test::message_of<DataError>([&] { make_plans(options); });

  EXPECT_TRUE(said.starts_with((folder / "table.csv") + " has the rate 1e-300 on 2 GPUs for task llama7")) << said;
}

TEST(Plan, OfManyMachinesSharesOneBudget) {
  PlanOptions options = options_of(std::vector<int>(100, 8));

  const std::vector<Plan> plans = make_plans(options);

  for (const Plan& plan : plans) {
    EXPECT_EQ(plan.allocation->search, SearchEnd::complete);
    EXPECT_EQ(plan.allocation->value, plans.front().allocation->value);
  }
}

}  // namespace
}  // namespace multicard
