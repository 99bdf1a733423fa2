#include "scheduling/replay/Workload.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

ReplayOptions options(ReplayLayout layout, const std::string& folder, const std::string& workload,
                      const std::string& traces) {
  const std::string data = test::source_path("tests/data/allocation/" + folder).string();
  ReplayOptions options;
  options.layout = layout;
  options.workload = data + "/" + workload;
  options.traces = data + traces;
  options.cluster = layout == ReplayLayout::pollux ? Machine{16, 4} : Machine{8, 8};
  return options;
}

TEST(Workload, OfPolluxHasMeasuredApplications) {
  const Workload workload =
      read_workload(options(ReplayLayout::pollux, "pollux", "workload-6.csv", "/traces"), JobFreedom::none);

  ASSERT_EQ(workload.jobs.size(), 160U);
  EXPECT_EQ(workload.jobs[3].name, "cifar10-3");
  EXPECT_EQ(workload.jobs[3].submission_s, 368);
  EXPECT_EQ(workload.jobs[3].gpus, 16);
  EXPECT_EQ(workload.jobs[3].model->batch(GpuPlacement(4, 4), 0), (LocalBatch{256, 0}));
  EXPECT_EQ(workload.times.restart_s, 30);
}

TEST(Workload, OfRubickTakesTheFewestNodesThatWereMeasured) {
  const ReplayOptions rubick = options(ReplayLayout::rubick, "rubick", "workload-base.csv", "");
  const Workload users = read_workload(rubick, JobFreedom::none), best = read_workload(rubick, JobFreedom::plan);

  ASSERT_EQ(users.jobs.size(), 355U);
  EXPECT_EQ(users.left_out, (std::vector<std::pair<std::string, int>>{{"llama30", 51}}));
  EXPECT_EQ(users.times.restart_s, 260);
  ASSERT_EQ(users.jobs[0].name, "vit-0");  // zero-dp on 2 GPUs, 37,239 steps
  EXPECT_NEAR(users.jobs[0].model->remaining_seconds(2, 0, 0), 3163, 10);
  EXPECT_LE(best.jobs[0].model->remaining_seconds(2, 0, 0), users.jobs[0].model->remaining_seconds(2, 0, 0));
}

TEST(Workload, OfOurOwnLayoutHasRates) {
  const Workload workload =
      read_workload(options(ReplayLayout::multicard, "multicard", "workload.csv", ""), JobFreedom::none);

  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.jobs[1].name, "short");
  EXPECT_NEAR(workload.jobs[1].model->remaining_seconds(4, 0, 0), 100, 1e-9);
}

class WrongWorkload : public ::testing::Test {
 protected:
  ReplayOptions with_rows(const std::string& rows) {
    std::ofstream(folder_ / "w.csv") << "name,submission_s,table,gpus,work\n" << rows;
    std::ofstream(folder_ / "t.csv") << "gpus,rate\n1,10\n2,0\n";
    ReplayOptions options;
    options.layout = ReplayLayout::multicard;
    options.workload = folder_ / "w.csv";
    options.traces = folder_.path().string();
    options.cluster = {1, 4};
    return options;
  }
  std::string message(const std::string& rows) {
    const ReplayOptions options = with_rows(rows);
    return test::message_of<DataError>([&] { static_cast<void>(read_workload(options, JobFreedom::none)); });
  }
  test::ScratchFolder folder_;
};

TEST_F(WrongWorkload, IsNamedWithItsLine) {
  const std::string line = "line 2 of " + (folder_ / "w.csv") + ": ";

  EXPECT_EQ(message("a,0,t,5,1\n"), line + "gpus is 5 (expected 1 to 4)");
  EXPECT_EQ(message("a,0,t,2,1\n"), line + "gpus is 2 (t has no rate for it)");
  EXPECT_EQ(message("a,-1,t,1,1\n"), line + "submission_s is -1 (expected 0 to 1000000000)");
  EXPECT_EQ(message("a,0,t,1,1\na,0,t,1,1\n"), "two jobs of " + (folder_ / "w.csv") + " are named a");
  EXPECT_NE(message("a,0,none,1,1\n").find("none.csv cannot be read"), std::string::npos);
  EXPECT_NE(message("").find("has no job"), std::string::npos);
}

TEST_F(WrongWorkload, MayAskForTooManyGpusWhereTheSystemChoosesThem) {
  EXPECT_EQ(read_workload(with_rows("a,0,t,5,1\nb,0,t,2,1\n"), JobFreedom::plan).jobs.size(), 2U);
}

TEST_F(WrongWorkload, NamesAJobThatWouldTakeTooLong) {
  const std::string line = "line 3 of " + (folder_ / "w.csv") + ": ";

  for (const JobFreedom freedom : {JobFreedom::none, JobFreedom::plan}) {
    const std::string said = test::message_of<DataError>(
        [&] { static_cast<void>(read_workload(with_rows("a,0,t,1,3e8\nb,0,t,1,1e12\n"), freedom)); });
    EXPECT_TRUE(said.starts_with(line + "job b takes 1e+11 s")) << said;
  }
  const ReplayOptions options = with_rows("a,0,tiny,1,1\n");
  std::ofstream(folder_ / "tiny.csv") << "gpus,rate\n1,1e-300\n";
  EXPECT_EQ(test::message_of<DataError>([&] { static_cast<void>(read_workload(options, JobFreedom::none)); }),
            "line 2 of " + (folder_ / "tiny.csv") + ": rate is 1e-300 (expected 0, or 1e-12 to 1000000000000)");
}

}  // namespace
}  // namespace multicard
