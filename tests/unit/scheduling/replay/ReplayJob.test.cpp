#include "scheduling/replay/ReplayJob.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

/// Three epochs of 100 units at one unit a second and GPU, but half as fast in the second epoch.
class ThreeEpochs : public TableModel {
 public:
  ThreeEpochs() : TableModel({{1, 1.0}, {2, 0.5}}, 300) {}
  int num_epochs() const override { return 3; }
  double progress_at(int epoch) const override { return 100.0 * epoch; }
  double update_gain(int /*global_batch*/, int epoch) const override { return epoch == 1 ? 0.5 : 1; }
};

ReplayJob three_epochs() {
  return ReplayJob({"job", 0, 1, std::make_shared<ThreeEpochs>()});
}

TEST(ReplayJob, WaitsAfterItsGpusHaveChanged) {
  ReplayJob job = three_epochs();

  job.allocate({{0, 2}}, 30);
  job.advance(0, 20);
  EXPECT_EQ(job.view().progress, 0);
  job.advance(20, 20);
  EXPECT_EQ(job.view().progress, 20);
  EXPECT_EQ(job.view().attained_service, 80);  // waiting counts
  EXPECT_EQ(job.view().num_restarts, 0);
  job.allocate({{1, 1}}, 30);
  job.advance(40, 40);
  EXPECT_EQ(job.view().progress, 30);
  EXPECT_EQ(job.view().num_restarts, 1);
}

TEST(ReplayJob, StandsStillWithoutGpus) {
  ReplayJob job = three_epochs();

  job.advance(0, 60);

  EXPECT_EQ(job.view().progress, 0);
  EXPECT_EQ(job.view().attained_service, 0);
}

TEST(ReplayJob, GoesOnWithTheNextEpochWithinARound) {
  ReplayJob job = three_epochs();

  job.allocate({{0, 1}}, 0);
  job.advance(0, 140);

  EXPECT_EQ(job.view().epoch, 1);
  EXPECT_EQ(job.view().progress, 120);  // 100 s for the first epoch, 40 s at half the speed
}

TEST(ReplayJob, RoundsTheEndOfAnEpochToWholeSeconds) {
  ReplayJob job({"job", 0, 1, test::work({{1, 100.4}, {3, 33.5}})});
  ReplayJob other = job, half({"job", 0, 1, test::work({{1, 32.5}})});

  job.allocate({{0, 1}}, 0);
  job.advance(60, 120);
  other.allocate({{0, 2}, {1, 1}}, 0);
  other.advance(60, 120);
  half.allocate({{0, 1}}, 0);
  half.advance(0, 60);

  EXPECT_EQ(job.completion_s(), 160);
  EXPECT_EQ(other.completion_s(), 94);  // halves are rounded to even numbers
  EXPECT_EQ(half.completion_s(), 32);
}

TEST(ReplayJob, SaysWhereNoTimeIsKnown) {
  ReplayJob job({"job", 0, 1, test::work({{1, 10}})});

  job.allocate({{0, 2}}, 0);

  EXPECT_THROW(job.advance(0, 60), DataError);
}

}  // namespace
}  // namespace multicard
