#include "io/Glob.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using Paths = std::vector<std::string>;

std::string data_error_of(const std::string& pattern) {
  try {
    expand_glob(pattern);
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Glob, ListsSortedPathsWithoutHiddenOnes) {
  const ScratchFolder scratch;
  for (const char* name : {"train-00001.h5", "train-00000.h5", ".train-00002.h5.part", "test.h5", "Train.h5"})
    write_file(scratch / name, "");

  EXPECT_EQ(expand_glob(scratch / "*.h5"),
            (Paths{scratch / "Train.h5", scratch / "test.h5", scratch / "train-00000.h5", scratch / "train-00001.h5"}));
  EXPECT_EQ(expand_glob(scratch / "test.h5"), Paths{scratch / "test.h5"});
  EXPECT_EQ(expand_glob(scratch / "t[er]*-0000[!1].h5"), Paths{scratch / "train-00000.h5"});
  EXPECT_EQ(data_error_of(scratch / "none*.h5"), "no file matches " + (scratch / "none*.h5"));
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(data_error_of(""), "no file matches  (paths are relative to " + here + ")");
}

TEST(Glob, TakesNamesThatAreThereAsTheyAre) {
  const ScratchFolder scratch;
  const Paths names{"run [1]", "what?", "all *", "a\\b", "{x,y}", "[", "lr=0.1, 100 %", "line\nend", "[!a]"};
  for (const std::string& name : names) {
    std::filesystem::create_directory(scratch / name);
    write_file(scratch / name + "/t[0].h5", "");
    write_file(scratch / name + "/t1.h5", "");
  }
  std::filesystem::create_directory(scratch / "run 1");

  for (const std::string& name : names) {
    const std::string folder = scratch / name;

    EXPECT_EQ(expand_glob(folder), Paths{folder});
    EXPECT_EQ(expand_glob(folder + "//t[0].h5"), Paths{folder + "//t[0].h5"});
    EXPECT_EQ(expand_glob(folder + "/t*.h5"), (Paths{folder + "/t1.h5", folder + "/t[0].h5"}));
  }
  EXPECT_EQ(expand_glob(scratch / "run*1]/t[0].h5"), Paths{scratch / "run [1]/t[0].h5"});
}

TEST(Glob, SaysWhichPathsAPatternCovers) {
  EXPECT_TRUE(glob_covers("/data/run [1]/train*.h5", "/data/run [1]/train-1.h5"));
  EXPECT_TRUE(glob_covers("data//t?", "data/t1"));
  EXPECT_TRUE(glob_covers("t[0].h5", "t[0].h5"));
  EXPECT_FALSE(glob_covers("t[0].h5", "t[1].h5"));
  EXPECT_FALSE(glob_covers("data/*", "data/a/b"));
  EXPECT_FALSE(glob_covers("data/*", "data/.a"));
}

TEST(Glob, PacksPathsOfAnyCharacters) {
  const Paths paths{"a\nb", "c d", "%s{}"};

  EXPECT_EQ(unpacked_paths(packed_paths(paths)), paths);
}

}  // namespace
}  // namespace multicard
