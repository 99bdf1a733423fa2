#include "base/MemoryLimit.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace multicard {
namespace {

class MemoryLimit : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "multicard-group-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ + "/" + name) << text; }

  std::string folder_;
};

TEST_F(MemoryLimit, CountsOldPagesOfFilesAsFree) {
  write("memory.max", "1000\n");
  write("memory.current", "900\n");
  EXPECT_EQ(memory_left_in(folder_), 100);

  write("memory.stat", "anon 100\nfile 800\nactive_file 200\ninactive_file 600\n");

  EXPECT_EQ(memory_left_in(folder_), 700);
}

TEST_F(MemoryLimit, LiesBetweenNothingAndTheLimit) {
  write("memory.max", "1000\n");
  write("memory.current", "1200\n");
  EXPECT_EQ(memory_left_in(folder_), 0);

  write("memory.stat", "inactive_file 5000\n");

  EXPECT_EQ(memory_left_in(folder_), 1000);
}

TEST_F(MemoryLimit, IsNotThereWithoutALimit) {
  EXPECT_EQ(memory_left_in(folder_), std::nullopt);

  write("memory.max", "max\n");
  write("memory.current", "900\n");

  EXPECT_EQ(memory_left_in(folder_), std::nullopt);
}

}  // namespace
}  // namespace multicard
