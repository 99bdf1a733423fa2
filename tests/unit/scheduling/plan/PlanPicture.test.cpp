#include "scheduling/plan/PlanPicture.hpp"

#include <limits>
#include <regex>

#include <gtest/gtest.h>

namespace multicard {
namespace {

struct Rectangle {
  double x, y, width, height;
  std::string title;
};

/// Those of entries, which have a title.
std::vector<Rectangle> rectangles_of(const std::string& svg) {
  static const std::regex pattern(
      R"re(<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"[^>]*><title>([^<]*)</title>)re");
  std::vector<Rectangle> found;
  for (std::sregex_iterator one(svg.begin(), svg.end(), pattern), end; one != end; ++one)
    found.push_back(
        {std::stod((*one)[1]), std::stod((*one)[2]), std::stod((*one)[3]), std::stod((*one)[4]), (*one)[5]});
  return found;
}

Plan plan_of(int num_gpus, TaskSchedule schedule) {
  Plan plan;
  plan.problem.machine = {1, num_gpus};
  for (const char* name : {"a", "<b>", "c"})
    plan.problem.tasks.push_back({name, RateTable(), 1, 1});
  plan.allocation.emplace();
  plan.allocation->value = 10;
  plan.intervals.ends.resize(schedule.size());
  plan.allocation->schedule = std::move(schedule);
  return plan;
}

TEST(PlanPicture, GivesEachEntryItsGpusForItsTime) {
  // b ends between a and c, so that d, which is a again, gets two pieces.
  const std::string svg =
      plan_svg({plan_of(4, {{0, 2, 1, 0, 6}, {1, 1, 1, 0, 4}, {2, 1, 1, 0, 10}, {1, 1, 1, 4, 6}, {0, 3, 1, 6, 10}})});
  const std::vector<Rectangle> all = rectangles_of(svg);
  ASSERT_EQ(all.size(), 5U) << svg;
  double area = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    area += all[i].width * all[i].height;
    for (std::size_t k = 0; k < i; ++k) {
      const bool apart = all[i].x >= all[k].x + all[k].width - 0.2 || all[k].x >= all[i].x + all[i].width - 0.2;
      const bool below = all[i].y >= all[k].y + all[k].height - 0.2 || all[k].y >= all[i].y + all[i].height - 0.2;
      EXPECT_TRUE(apart || below) << all[i].title << " over " << all[k].title;
    }
  }
  EXPECT_NEAR(area, 780 * 110, 780) << "all GPUs are busy";
  EXPECT_EQ(all[1].title, "&lt;b&gt;: 1 GPU, 0.0-4.0 s");
  EXPECT_NEAR(all[0].width / all[1].width, 1.5, 0.01);
}

TEST(PlanPicture, SplitsATaskWhereNoGapIsWideEnough) {
  const std::vector<Rectangle> all =
      rectangles_of(plan_svg({plan_of(3, {{0, 1, 1, 0, 5}, {1, 1, 1, 0, 10}, {2, 1, 1, 0, 5}, {0, 2, 1, 5, 10}})}));
  ASSERT_EQ(all.size(), 5U) << "GPUs 0 and 2 are free";
  EXPECT_EQ(all[3].title, all[4].title);
}

TEST(PlanPicture, TasksWithoutAnEndReachTheEdge) {
  const double forever = std::numeric_limits<double>::infinity();
  const std::string svg = plan_svg({plan_of(2, {{0, 1, 1, 0, forever}, {1, 1, 1, 0, forever}})});
  const std::vector<Rectangle> all = rectangles_of(svg);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_NEAR(all[0].width, 780, 0.1);
  EXPECT_EQ(svg.find(" s</text>"), std::string::npos) << "no times where none are known";
}

TEST(PlanPicture, SaysWhyAMachineHasNoPlan) {
  Plan plan = plan_of(1, {});
  plan.allocation.reset();
  plan.obstacle = "a needs 4 GPUs";
  EXPECT_NE(plan_svg({plan}).find("none (a needs 4 GPUs)"), std::string::npos);
}

}  // namespace
}  // namespace multicard
