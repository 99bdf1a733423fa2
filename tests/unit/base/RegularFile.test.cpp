#include "base/RegularFile.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

std::string why(const std::string& path) {
  return why_unreadable(path).value_or("");
}

TEST(RegularFile, ReadsFromFrontToBack) {
  const test::ScratchFolder folder;
  std::ofstream(folder / "x") << "0123456789";
  RegularFile file(folder / "x");
  std::string bytes(6, '\0');

  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(file.read(bytes.data(), 6), 6u);
  EXPECT_EQ(bytes, "012345");
  EXPECT_EQ(file.read(bytes.data(), 6), 4u);
  EXPECT_EQ(file.read(bytes.data(), 6), 0u);
  EXPECT_EQ(why(folder / "x"), "");
}

TEST(RegularFile, RefusesEverythingElseAtOnce) {
  const test::ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop", folder / "loop");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", (folder / "socket").c_str());
  const int socket_end = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socket_end, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  EXPECT_EQ(why(folder / "none"), "No such file or directory");
  EXPECT_EQ(why(folder.path().string()), "it is a folder");
  EXPECT_EQ(why(folder / "pipe"), "it is a pipe, not a regular file");
  EXPECT_EQ(why(folder / "socket"), "it is not a regular file");
  EXPECT_EQ(why(folder / "loop"), "Too many levels of symbolic links");
  EXPECT_EQ(why("/dev/zero"), "it is a device, not a regular file");
  EXPECT_THROW(RegularFile(folder / "pipe"), DataError);
  EXPECT_THROW(require_regular_file(folder / "loop"), DataError);
  close(socket_end);
}

TEST(RegularFile, ALoopOfLinksIsNeitherThereNorAFolder) {
  const test::ScratchFolder folder;
  std::filesystem::create_symlink("loop", folder / "loop");

  EXPECT_FALSE(is_there(folder / "loop"));
  EXPECT_FALSE(is_folder(folder / "loop"));
  EXPECT_TRUE(is_folder(folder.path().string()));
}

}  // namespace
}  // namespace multicard
