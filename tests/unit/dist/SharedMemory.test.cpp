#include "dist/SharedMemory.hpp"

#include <chrono>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "dist/NodeChannel.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

TEST(SharedMemory, IsZeroedSeenByAllAndLeavesNoName) {
  const auto memory = SharedMemory::create(world(), 100);
  ASSERT_TRUE(memory);
  EXPECT_EQ(std::to_integer<int>(memory->part(world().rank())[99]), 0);
  world().barrier();

  memory->part(world().rank())[5] = std::byte(world().rank() + 1);
  world().barrier();

  for (int r = 0; r < world().size(); ++r)
    EXPECT_EQ(std::to_integer<int>(memory->part(r)[5]), r + 1);
  EXPECT_TRUE(memory->owns(memory->part(world().rank()) + 10, 90));
  EXPECT_FALSE(memory->owns(memory->part(world().rank()) + 10, 1 << 20));
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    EXPECT_EQ(entry.path().filename().string().rfind("multicard-" + std::to_string(getpid()), 0), std::string::npos);
}

/// An object as a process leaves it that is killed before it takes the name away.
std::string abandoned_object() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const std::string name = "/multicard-" + std::to_string(child) + "-0";
  close(shm_open(name.c_str(), O_CREAT | O_RDWR, 0600));
  return "/dev/shm" + name;
}

void make_old(const std::string& path) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
}

TEST(SharedMemory, RemovesWhatKilledProcessesLeft) {
  const std::string abandoned = abandoned_object(), young = abandoned_object();
  const std::string of_a_living_one = "/multicard-" + std::to_string(getppid()) + "-7";
  close(shm_open(of_a_living_one.c_str(), O_CREAT | O_RDWR, 0600));
  make_old(abandoned);
  make_old("/dev/shm" + of_a_living_one);
  ASSERT_TRUE(std::filesystem::exists(abandoned));
  world().barrier();

  const auto memory = SharedMemory::create(world(), 100);
  world().barrier();

  EXPECT_FALSE(std::filesystem::exists(abandoned));
  EXPECT_TRUE(std::filesystem::exists(young)) << "its process may live in another container";
  EXPECT_TRUE(std::filesystem::exists("/dev/shm" + of_a_living_one));
  world().barrier();
  std::filesystem::remove(young);
  shm_unlink(of_a_living_one.c_str());
}

TEST(SharedMemory, IsNullOnAllRanksWhenThereIsNoRoom) {
  EXPECT_FALSE(SharedMemory::create(world(), std::size_t{1} << 45));
}

TEST(NodeChannel, ThrowsWhenRanksEnterDifferentOperations) {
  if (world().size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto channel = NodeChannel::create(world(), 64, WaitPolicy::spin);

  channel->barrier({1, 2, 3});

  EXPECT_THROW(channel->barrier({1, 2, world().rank() == 0 ? 3U : 4U}), CommunicationError);
}

TEST(NodeChannel, WaitingEndsWhenARankGivesUp) {
  if (world().size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto channel = NodeChannel::create(world(), 64, WaitPolicy::sleep);

  if (world().rank() == 0)
    channel->abort();
  else
    EXPECT_THROW(channel->barrier(), CommunicationError);
  world().barrier();
}

}  // namespace
}  // namespace multicard
