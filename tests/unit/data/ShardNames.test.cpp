#include "data/ShardNames.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/System.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

/// Of a process that has ended.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

void put(const std::string& path) {
  std::ofstream(path) << "x";
}

/// Shard 0 of 3 has its name, the others have those that process `pid` gave them.
void leave_half_named(const ScratchFolder& scratch, pid_t pid) {
  put(shard_path(scratch / "set", 0, 3));
  for (const char* name : {".set-00001-of-00003.h5.", ".set-00002-of-00003.h5."})
    put(scratch / (name + host_name() + "-" + std::to_string(pid) + "-1.part"));
}

TEST(ShardNames, OfASetWhoseWriterWasKilledWhileItNamedThemAreFreed) {
  const ScratchFolder scratch;
  leave_half_named(scratch, ended_process());
  put(shard_path(scratch / "setter", 0, 3));

  EXPECT_NO_THROW(require_no_shards(scratch / "set"));

  EXPECT_FALSE(fs::exists(shard_path(scratch / "set", 0, 3)));
  EXPECT_TRUE(fs::exists(shard_path(scratch / "setter", 0, 3)));
}

TEST(ShardNames, OfOthersAreNeverFreed) {
  const ScratchFolder scratch;
  leave_half_named(scratch, getpid());
  EXPECT_THROW(require_no_shards(scratch / "set"), DataError);

  put(shard_path(scratch / "whole", 0, 1));
  put(scratch / (".whole-00000-of-00001.h5." + host_name() + "-" + std::to_string(ended_process()) + "-1.part"));
  EXPECT_THROW(require_no_shards(scratch / "whole"), DataError);
  EXPECT_TRUE(fs::exists(shard_path(scratch / "whole", 0, 1)));
}

}  // namespace
}  // namespace multicard
