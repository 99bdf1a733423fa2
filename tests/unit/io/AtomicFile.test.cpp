#include "io/AtomicFile.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/System.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using test::world;

void put(const std::string& path, const std::string& text) {
  if (world().is_root()) std::ofstream(path) << text;
  world().barrier();
}

TEST(PendingFile, GetsItsNameOnlyWhenCommitted) {
  const ScratchFolder scratch;
  put(scratch / "x", "old");
  PendingFile pending(scratch / "x", world());
  put(pending.path(), "new");

  EXPECT_EQ(fs::path(pending.path()).parent_path(), scratch.path());
  EXPECT_TRUE(fs::path(pending.path()).filename().string().starts_with("."));
  EXPECT_EQ(world().broadcast(pending.path()), pending.path());
  EXPECT_EQ(read_file(scratch / "x"), "old");
  world().barrier();

  pending.commit();

  EXPECT_EQ(read_file(scratch / "x"), "new");
  EXPECT_FALSE(fs::exists(pending.path()));
}

TEST(PendingFile, IsRemovedWithoutCommit) {
  const ScratchFolder scratch;
  {
    const PendingFile pending(scratch / "x", world());
    put(pending.path(), "half");
  }
  world().barrier();
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(PendingFile, LeavesNothingThatIsNotFoundAgain) {
  const ScratchFolder scratch;
  std::string abandoned;
  {
    const PendingFile pending(scratch / "x.json", world());
    abandoned = pending.path();
  }
  put(abandoned, "{\"half\": of a process that was killed");
  put(scratch / "x.json", "whole");
  put(scratch / ".x.json.host-1-1.part", "precious");
  put(scratch / ".x.jsonl.host-1-1.part", "{");

  if (world().is_root()) remove_abandoned(scratch / "x.json");
  world().barrier();

  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_EQ(read_file(scratch / "x.json"), "whole");
  EXPECT_EQ(read_file(scratch / ".x.json.host-1-1.part"), "precious");
  EXPECT_TRUE(fs::exists(scratch / ".x.jsonl.host-1-1.part"));
}

TEST(PendingFile, WritesThroughALink) {
  const ScratchFolder scratch;
  if (world().is_root()) {
    fs::create_directories(scratch / "elsewhere");
    fs::create_symlink("elsewhere/x", scratch / "x");
  }
  world().barrier();

  PendingFile pending(scratch / "x", world());
  put(pending.path(), "new");
  pending.commit();

  EXPECT_TRUE(fs::is_symlink(scratch / "x"));
  EXPECT_EQ(read_file(scratch / "elsewhere/x"), "new");
}

TEST(PendingFile, StaysAfterCommit) {
  const ScratchFolder scratch;
  {
    PendingFile pending(scratch / "a/b/x", world());
    put(pending.path(), "whole");
    pending.commit();
  }
  world().barrier();
  EXPECT_EQ(read_file(scratch / "a/b/x"), "whole");
}

TEST(PendingFile, OfTheSameNameMayBeWrittenTwiceAtOnce) {
  const ScratchFolder scratch;
  const PendingFile one(scratch / "x", world()), two(scratch / "x", world());

  EXPECT_NE(one.path(), two.path());
}

TEST(PendingFile, ThatWasNeverWrittenIsADataErrorOnAllRanks) {
  const ScratchFolder scratch;
  PendingFile pending(scratch / "x", world());
  try {
    pending.commit();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_EQ(error.scope(), Scope::all_ranks);
  }
}

TEST(PendingFile, OfAFolderThatCannotBeMadeIsADataError) {
  try {
    const PendingFile pending("/dev/null/x/y", world());
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_NE(std::string(error.what()).find("/dev/null/x"), std::string::npos);
  }
}

TEST(PutInPlace, ChangesPlacesWithWhatHadTheName) {
  const ScratchFolder shared;
  if (!world().is_root()) return;
  const fs::path scratch = shared.path() / "places";
  for (const char* name : {"old", ".new"})
    write_file((scratch / name / "x").string(), name);

  put_in_place((scratch / ".new").string(), (scratch / "old").string());
  EXPECT_EQ(read_file((scratch / "old/x").string()), ".new");
  EXPECT_EQ(read_file((scratch / ".new/x").string()), "old");

  put_in_place((scratch / ".new").string(), (scratch / "other").string());
  EXPECT_EQ(read_file((scratch / "other/x").string()), "old");
  EXPECT_FALSE(fs::exists(scratch / ".new"));

  EXPECT_THROW(put_in_place((scratch / "none").string(), (scratch / "place").string()), DataError);
}

/// One process fills a folder: the root of the test.
template <class Body>
void on_root_alone(Body&& body) {
  if (world().is_root()) body();
  world().barrier();
}

TEST(PendingFolder, AppearsWithAllFilesWhenCommitted) {
  const ScratchFolder scratch;
  on_root_alone([&] {
    fs::create_directories(scratch / "empty");
    for (const char* name : {"a/new/", "empty"}) {
      PendingFolder pending(scratch / name);
      write_file(pending.path() + "/sub/x", "text");
      EXPECT_TRUE(fs::path(pending.path()).filename().string().starts_with("."));
      EXPECT_FALSE(fs::exists(fs::path(scratch / name) / "sub"));

      pending.commit();

      EXPECT_EQ(read_file(scratch / (std::string(name) + "/sub/x")), "text");
      EXPECT_FALSE(fs::exists(pending.path()));
    }
  });
}

TEST(PendingFolder, IsRemovedWithoutCommit) {
  const ScratchFolder scratch;
  on_root_alone([&] {
    {
      const PendingFolder pending(scratch / "x");
      write_file(pending.path() + "/y", "half");
    }
    EXPECT_TRUE(fs::is_empty(scratch.path()));
  });
}

TEST(PendingFolder, RefusesToReplaceWhatIsThere) {
  const ScratchFolder scratch;
  on_root_alone([&] {
    write_file(scratch / "full/y", "old");
    EXPECT_THROW(PendingFolder(scratch / "full"), DataError);
    EXPECT_THROW(PendingFolder(scratch / "full/y"), DataError);

    PendingFolder late(scratch / "new");
    write_file(scratch / "new/y", "from another");
    EXPECT_THROW(late.commit(), DataError);
    EXPECT_EQ(read_file(scratch / "new/y"), "from another");
  });
}

/// A temporary name as the process `pid` of `host` would choose it.
std::string temporary(const ScratchFolder& scratch, const std::string& name, const std::string& host, pid_t pid) {
  return scratch / ("." + name + "." + host + "-" + std::to_string(pid) + "-0.part");
}

/// Of a process that has ended.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(Orphans, OfEndedProcessesAreRemovedByTheNextWriter) {
  const ScratchFolder scratch;
  if (!world().is_root()) return;
  const std::string orphan = temporary(scratch, "x.json", host_name(), ended_process()),
                    alive = temporary(scratch, "x.json", host_name(), getpid()),
                    elsewhere = temporary(scratch, "x.json", "some-other.host", 1),
                    other_file = temporary(scratch, "xy.json", host_name(), ended_process());
  for (const std::string& path : {orphan, alive, elsewhere, other_file})
    std::ofstream(path) << "{";

  const PendingFile pending(scratch / "x.json");

  EXPECT_FALSE(fs::exists(orphan));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(elsewhere));
  EXPECT_TRUE(fs::exists(other_file));
}

TEST(Orphans, OfOtherHostsAreRemovedAfterADay) {
  const ScratchFolder scratch;
  if (!world().is_root()) return;
  const std::string path = temporary(scratch, "x-00000-of-00002.h5", "some-other.host", 1);
  std::ofstream(path) << "\x89HDF";
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(25));

  remove_orphans(scratch / "x-");

  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace multicard
