#include "scheduling/policy/PolluxPolicy.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

JobRequest scalable(const std::string& name) {
  return test::request(name, 0, 1, {{1, 8000}, {2, 4000}, {3, 2700}, {4, 2000}});
}

TEST(PolluxPolicy, DoublesGpusAtMost) {
  PolluxPolicy policy({1, 4}, 30);
  test::Jobs jobs;
  jobs.add(scalable("a"));

  EXPECT_EQ(jobs.follow(policy, 600), std::vector<int>{1});
  EXPECT_EQ(jobs.follow(policy, 660), std::vector<int>{2});
  EXPECT_EQ(jobs.follow(policy, 720), std::vector<int>{4});
}

TEST(PolluxPolicy, DoesNotRestartYoungJobs) {
  PolluxPolicy policy({1, 4}, 30);
  test::Jobs jobs;
  jobs.add(scalable("a"));

  EXPECT_EQ(jobs.follow(policy, 0), std::vector<int>{1});
  EXPECT_EQ(jobs.follow(policy, 10), std::vector<int>{1});  // 10 s / 40 s of twice the speed is less than now
  EXPECT_EQ(jobs.follow(policy, 60), std::vector<int>{2});
}

TEST(PolluxPolicy, ServesEverybodyBeforeItSpeedsAnybodyUp) {
  PolluxPolicy policy({1, 4}, 30);
  test::Jobs jobs;
  for (const char* name : {"a", "b", "c"})
    jobs.add(scalable(name));
  jobs[0].allocate({{0, 4}}, 0);
  jobs[0].advance(0, 60);

  EXPECT_EQ(jobs.follow(policy, 600), (std::vector<int>{2, 1, 1}));
}

}  // namespace
}  // namespace multicard
