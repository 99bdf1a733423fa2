#include "io/PageCache.hpp"

#include <gtest/gtest.h>
#include <sys/vfs.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

constexpr long kExt4 = 0xEF53, kXfs = 0x58465342, kTmpfs = 0x01021994;

long file_system_of(const std::string& path) {
  struct statfs status {};
  return statfs(path.c_str(), &status) == 0 ? static_cast<long>(status.f_type) : 0;
}

TEST(PageCache, AFileLeavesItAndComesBack) {
  const ScratchFolder scratch;
  const std::string path = scratch / "x";
  if (const long type = file_system_of(scratch.path().string()); type != kExt4 && type != kXfs)
    GTEST_SKIP() << "SKIPPED: which pages stay is known of ext4 and XFS only";
  write_file(path, std::string(4 << 20, 'x'));

  drop_from_page_cache(path);
  EXPECT_EQ(cached_share(path), 0);

  EXPECT_EQ(read_file(path).size(), 4u << 20);
  EXPECT_EQ(cached_share(path), 1);
}

TEST(PageCache, StaysWhereThereIsNoDisk) {
  const std::string path = "/dev/shm/multicard-page-cache-" + std::to_string(getpid());
  if (file_system_of("/dev/shm") != kTmpfs) GTEST_SKIP() << "SKIPPED: /dev/shm is not in memory";
  write_file(path, std::string(1 << 20, 'x'));

  drop_from_page_cache(path);

  EXPECT_EQ(cached_share(path), 1);
  std::filesystem::remove(path);
}

TEST(PageCache, OfAFileThatIsNotThere) {
  EXPECT_THROW(cached_share("/nowhere/x"), DataError);
  EXPECT_THROW(drop_from_page_cache("/nowhere/x"), DataError);
  EXPECT_THROW(bring_to_disk("/nowhere/x"), DataError);
}

TEST(PageCache, OfAnEmptyFileNothingCanBeSaid) {
  const ScratchFolder scratch;
  write_file(scratch / "x", "");
  EXPECT_EQ(cached_share(scratch / "x"), 1);
}

}  // namespace
}  // namespace multicard
