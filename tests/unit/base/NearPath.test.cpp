#include "base/NearPath.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;

class NearPath : public testing::Test {
 protected:
  NearPath() {
    fs::create_directories(root_ / "inputs/image");
    for (const char* name : {"tiny.yaml", "tiny_scaling.yaml", "fashion_mnist.yaml"})
      std::ofstream(root_ / "inputs/image" / name) << "\n";
  }
  std::string path(const char* name) const { return (root_ / name).string(); }

  test::ScratchFolder scratch_;
  fs::path root_ = scratch_.path();
};

TEST_F(NearPath, FindsSlipsOfTheKeyboardInNamesAndFolders) {
  EXPECT_EQ(near_path(path("inputs/image/fashon_mnist.yaml")), path("inputs/image/fashion_mnist.yaml"));
  EXPECT_EQ(near_path(path("input/image/tiny.yaml")), path("inputs/image/tiny.yaml"));
  EXPECT_EQ(near_path(path("inputs/images/tinyy.yaml")), path("inputs/image/tiny.yaml"));
}

TEST_F(NearPath, FindsAForgottenExtension) {
  EXPECT_EQ(near_path(path("inputs/image/tiny")), path("inputs/image/tiny.yaml"));
}

TEST_F(NearPath, DoesNotGuessWildly) {
  EXPECT_EQ(near_path(path("inputs/image/other_words.txt")), std::nullopt);
  EXPECT_EQ(near_path(path("nowhere/at/all.yaml")), std::nullopt);
  EXPECT_EQ(near_path("/"), std::nullopt);
  EXPECT_EQ(did_you_mean(path("nowhere/at/all.yaml"), "Name a file."), "Name a file.");
}

}  // namespace
}  // namespace multicard
