#include "io/OwnFiles.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "base/System.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

bool is_none(const std::string&) {
  return false;
}

TEST(OwnFiles, AMarkIsWrittenOnceAndNeverOverAnothersFile) {
  const ScratchFolder scratch;
  write_file(scratch / "other/.multicard", "precious");

  mark_folder(scratch / "new/folder");
  mark_folder(scratch / "other");

  EXPECT_TRUE(is_marked(scratch / "new/folder"));
  EXPECT_FALSE(is_marked(scratch / "other"));
  EXPECT_EQ(read_file(scratch / "other/.multicard"), "precious");
}

TEST(OwnFiles, ALinkIsFollowedToItsEndThoughThatIsNotThere) {
  const ScratchFolder scratch;
  fs::create_symlink("second", scratch / "first");
  fs::create_symlink("folder/end", scratch / "second");
  fs::create_symlink("loop", scratch / "loop");

  EXPECT_EQ(end_of_links(scratch / "first"), scratch / "folder/end");
  EXPECT_EQ(end_of_links(scratch / "none"), scratch / "none");
  EXPECT_THROW(end_of_links(scratch / "loop"), DataError);
}

TEST(OwnFiles, ATemporaryFileIsOwnByItsNameAndTheStartOfItsContent) {
  const ScratchFolder scratch;
  const auto made = [&](const std::string& name, const std::string& content) {
    write_file(scratch / name, content);
    return is_own_temporary(scratch / name);
  };
  EXPECT_TRUE(made(".x.h5.a-host.org-12-3.part", std::string(kHdf5Start) + "more"));
  EXPECT_TRUE(made(".x.h5.host-12-4.part", std::string(64, '\0')));
  EXPECT_TRUE(made(".x.json.host-12-3.part", "{\"a\""));
  EXPECT_TRUE(made(".anything.host-12-3.part", ""));
  EXPECT_FALSE(made(".x.h5.host-12-5.part", "precious"));
  EXPECT_FALSE(made(".anything.host-12-4.part", "precious"));
  EXPECT_FALSE(made(".x.h5.part", std::string(kHdf5Start)));
  EXPECT_FALSE(made(".x.h5.host-12-.part", std::string(kHdf5Start)));
}

TEST(OwnFiles, ATemporaryFolderIsOwnByItsMark) {
  const ScratchFolder scratch;
  fs::create_directories(scratch / ".x.host-1-0.part");
  mark_folder(scratch / ".x.host-1-1.part");

  EXPECT_FALSE(is_own_temporary(scratch / ".x.host-1-0.part"));
  EXPECT_TRUE(is_own_temporary(scratch / ".x.host-1-1.part"));
}

TEST(OwnFiles, AFolderGoesWithItsLastOwnFileAlone) {
  const ScratchFolder scratch;
  for (const char* folder : {"mine", "shared"}) {
    mark_folder(scratch / folder);
    write_file(scratch / folder + "/own", "x");
  }
  write_file(scratch / "shared/notes", "precious");
  const auto is_own = [](const std::string& path) { return path.ends_with("/own"); };

  remove_own_files(scratch / "mine", is_own);
  remove_own_files(scratch / "shared", is_own);

  EXPECT_FALSE(fs::exists(scratch / "mine"));
  EXPECT_EQ(names_in(scratch / "shared"), std::vector<std::string>{"notes"});
}

TEST(OwnFiles, LinksAndTheirTargetsStay) {
  const ScratchFolder scratch;
  write_file(scratch / "elsewhere/x", "precious");
  fs::create_symlink("elsewhere", scratch / "folder");
  fs::create_symlink("elsewhere/x", scratch / "link");

  EXPECT_FALSE(remove_own_file(scratch / "link"));
  remove_own_files(scratch / "folder", is_none);
  remove_own_folder(scratch / "folder");

  EXPECT_EQ(read_file(scratch / "link"), "precious");
  EXPECT_TRUE(fs::is_symlink(scratch / "folder"));
}

TEST(OwnFiles, AFolderOfOthersIsRefusedByTheNameOfAFile) {
  const ScratchFolder scratch;
  write_file(scratch / "records/interview.wav", "precious");
  fs::create_directories(scratch / "empty");
  mark_folder(scratch / "marked");
  write_file(scratch / "marked/interview.wav", "precious");
  fs::create_symlink("nowhere", scratch / "dangling");

  EXPECT_NO_THROW(require_own_folder(scratch / "absent", "records", is_none));
  EXPECT_NO_THROW(require_own_folder(scratch / "empty", "records", is_none));
  EXPECT_NO_THROW(require_own_folder(scratch / "marked", "records", is_none));
  EXPECT_NO_THROW(require_own_folder(scratch / "records", "records", [](const std::string&) { return true; }));
  EXPECT_THROW(require_own_folder(scratch / "dangling", "records", is_none), UsageError);
  EXPECT_THROW(require_own_folder(scratch / "records/interview.wav", "records", is_none), UsageError);
  try {
    require_own_folder(scratch / "records", "records", is_none);
    ADD_FAILURE() << "it was taken";
  } catch (const UsageError& error) {
    EXPECT_NE(error.problem().find("interview.wav"), std::string::npos);
    EXPECT_NE(error.suggestion().find("run.output"), std::string::npos);
  }
}

}  // namespace
}  // namespace multicard
