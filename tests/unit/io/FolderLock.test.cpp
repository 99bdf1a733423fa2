#include "io/FolderLock.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "base/System.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

TEST(FolderLock, KeepsASecondHolderOutAndNamesTheFirst) {
  const ScratchFolder scratch;
  const std::string folder = scratch / "a/run";
  std::optional<FolderLock> first(folder);
  try {
    const FolderLock second(folder, 0.1);
    ADD_FAILURE() << "two hold the folder";
  } catch (const UsageError& error) {
    EXPECT_NE(error.problem().find(folder), std::string::npos);
    EXPECT_EQ(error.why(), "process " + std::to_string(getpid()) + " on " + host_name());
  }
  first.reset();
  EXPECT_NO_THROW(FolderLock(folder, 0));
}

TEST(FolderLock, WaitsForAHolderThatIsAboutToEnd) {
  const ScratchFolder scratch;
  std::optional<FolderLock> first(scratch / "run");
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    first.reset();
  });
  EXPECT_NO_THROW(FolderLock(scratch / "run", 60));
  ending.join();
}

TEST(FolderLock, IgnoresTheFileOfAHolderThatDied) {
  const ScratchFolder scratch;
  fs::create_directories(scratch / "run");
  std::ofstream(scratch / "run/.lock") << "process 1 on a host that is gone, whose name is longer than ours";
  EXPECT_NO_THROW(FolderLock(scratch / "run", 0));
}

TEST(FolderLock, LeavesTheFolderAsItWas) {
  const ScratchFolder scratch;
  { const FolderLock lock(scratch / "new/folder"); }
  EXPECT_FALSE(fs::exists(scratch / "new"));
  fs::create_directories(scratch / "empty");
  { const FolderLock lock(scratch / "empty"); }
  EXPECT_TRUE(fs::exists(scratch / "empty"));

  fs::create_directories(scratch / "run");
  std::ofstream(scratch / "run/results.h5") << "x";
  { const FolderLock lock(scratch / "run"); }
  EXPECT_FALSE(fs::exists(scratch / "run/.lock"));
  EXPECT_TRUE(fs::exists(scratch / "run/results.h5"));
}

TEST(FolderLock, IsNoOtherFileOfThatName) {
  const ScratchFolder scratch;
  std::ofstream(scratch / "mine") << "precious";
  fs::create_directories(scratch / "linked");
  fs::create_symlink("../mine", scratch / "linked/.lock");
  fs::create_directories(scratch / "other");
  std::ofstream(scratch / "other/.lock") << "precious";
  fs::create_directories(scratch / "folder/.lock");

  for (const char* folder : {"linked", "other", "folder"})
    EXPECT_THROW(FolderLock(scratch / folder, 0), UsageError) << folder;

  for (const char* file : {"mine", "linked/.lock", "other/.lock"})
    EXPECT_EQ(read_file(scratch / file), "precious") << file;
}

}  // namespace
}  // namespace multicard
