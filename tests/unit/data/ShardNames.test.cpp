#include "data/shards/ShardNames.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

/// As libhdf5 writes a shard of some megabytes, with the attributes at its end.
void put(const std::string& path) {
  std::ofstream(path) << "\x89HDF\r\n\x1a\n" << std::string(std::size_t{3} << 20, 'x') << "multicard-images";
}

/// Another process names the first of `names` and dies silently.
void die_while_naming(const std::string& prefix, const std::vector<std::string>& names) {
  const pid_t child = fork();
  if (child == 0) {
    const NamingJournal journal(prefix, names, Communicator::null());
    put(names.front());
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

std::vector<std::string> both_sets(const ScratchFolder& scratch) {
  return {shard_path(scratch / "set-train", 0, 2), shard_path(scratch / "set-train", 1, 2),
          shard_path(scratch / "set-test", 0, 2), shard_path(scratch / "set-test", 1, 2)};
}

TEST(ShardNames, OfAWriterThatWasKilledWhileItNamedThemAreFreed) {
  const ScratchFolder scratch;
  const std::vector<std::string> names = both_sets(scratch);
  die_while_naming(scratch / "set", names);
  ASSERT_TRUE(fs::exists(names.front()));
  put(shard_path(scratch / "setter", 0, 2));

  free_interrupted_names(scratch / "set");

  EXPECT_FALSE(fs::exists(names.front()));
  EXPECT_NO_THROW(require_no_shards(scratch / "set-train"));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << "the other set alone is left";
}

TEST(ShardNames, OfALivingWriterOrAFinishedOneStay) {
  const ScratchFolder scratch;
  const std::vector<std::string> names = both_sets(scratch);
  {
    NamingJournal journal(scratch / "set", names, Communicator::null());
    for (const std::string& name : names)
      put(name);
    free_interrupted_names(scratch / "set");
    EXPECT_TRUE(fs::exists(names.front()));
    journal.finish();
  }
  free_interrupted_names(scratch / "set");
  EXPECT_THROW(require_no_shards(scratch / "set-train"), DataError);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 4) << "no journal is left";
}

TEST(ShardNames, AreGivenBackWhenNamingFails) {
  const ScratchFolder scratch;
  const std::vector<std::string> names = both_sets(scratch);
  {
    const NamingJournal journal(scratch / "set", names, Communicator::null());
    put(names.front());
  }
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(PendingShards, ListTheirFolderOnce) {  // else this test would take minutes
  const ScratchFolder scratch;
  constexpr int kMany = 5000;
  for (int i = 0; i < kMany; ++i)
    std::ofstream(scratch / ("other-" + std::to_string(i))) << "x";
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const std::string temporary = PendingFile(scratch / "x-00007-of-03000.h5").path(),
                    own = "-" + std::to_string(getpid()) + "-";
  std::string orphan = temporary;
  orphan.replace(orphan.find(own), own.size(), "-" + std::to_string(child) + "-");
  put(orphan);

  const PendingShards shards(scratch / "x", 3000, Communicator::null());

  EXPECT_EQ(shards.size(), 3000);
  EXPECT_FALSE(fs::exists(orphan));
}

}  // namespace
}  // namespace multicard
