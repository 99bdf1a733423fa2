#include "train/BackgroundJob.hpp"

#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/Clock.hpp"

namespace multicard {
namespace {

/// A door that a job waits at.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(BackgroundJob, RunsWhileItsOwnerDoes) {
  Door door;
  int done = 0;
  BackgroundJob job;
  EXPECT_FALSE(job.running());

  job.start([&] {
    door.pass();
    done = 1;
  });
  EXPECT_TRUE(job.running());
  EXPECT_THROW(job.start([] {}), std::logic_error);
  door.open();

  EXPECT_EQ(job.wait(), std::nullopt);
  EXPECT_EQ(done, 1);
  EXPECT_FALSE(job.running());
}

TEST(BackgroundJob, HandsOverTheErrorOnce) {
  BackgroundJob job;
  job.start([] { throw DataError("it is full", "so it is"); });
  const std::optional<Error> error = job.wait();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ExitCode::data);
  EXPECT_EQ(error->problem(), "it is full");
  EXPECT_EQ(job.wait(), std::nullopt);

  job.start([] { throw std::runtime_error("who knows"); });
  EXPECT_EQ(job.wait()->code(), ExitCode::defect);
  job.start([] {});
  EXPECT_EQ(job.wait(), std::nullopt);
}

TEST(BackgroundJob, WaitsAtItsEndButNotForever) {
  const auto door = std::make_shared<Door>();
  const auto left = std::make_shared<Door>();
  {
    BackgroundJob job(0.05);
    job.start([door, left] {
      door->pass();
      left->open();
    });
  }  // comes here although the job still waits
  door->open();
  left->pass();
}

}  // namespace
}  // namespace multicard
