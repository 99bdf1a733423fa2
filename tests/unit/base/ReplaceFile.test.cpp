#include "base/ReplaceFile.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;

class ReplaceFile : public testing::Test {
 protected:
  ReplaceFile() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ReplaceFile() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::temp_directory_path() / "multicard-replace-file";
};

TEST_F(ReplaceFile, HasTheNewContentAndNoTemporaryFile) {
  const std::string path = folder_ / "a", temporary = folder_ / ".a.part";
  replace_file(path, temporary, "old");

  replace_file(path, temporary, "new");

  EXPECT_EQ(read_file(path), "new");
  EXPECT_FALSE(fs::exists(temporary));
}

TEST_F(ReplaceFile, KeepsWhatIsThereWhereItFails) {
  fs::create_directories(folder_ / "a/inside");
  const std::string temporary = folder_ / ".a.part";

  EXPECT_THROW(replace_file(folder_ / "a", temporary, "new"), DataError);
  EXPECT_THROW(replace_file(folder_ / "missing/a", folder_ / "missing/.a.part", "new"), DataError);

  EXPECT_TRUE(fs::is_directory(folder_ / "a/inside"));
  EXPECT_FALSE(fs::exists(temporary));
}

}  // namespace
}  // namespace multicard
