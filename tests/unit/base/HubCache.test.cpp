#include "base/HubCache.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace multicard {
namespace {

namespace fs = std::filesystem;

/// A cache in which one model has been fetched.
class HubCache : public testing::Test {
 protected:
  HubCache() {
    std::string name = (fs::temp_directory_path() / "multicard-hub-XXXXXX").string();
    home_ = ::mkdtemp(name.data());
    for (const char* variable : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
      ::unsetenv(variable);
    ::setenv("HOME", home_.c_str(), 1);
  }
  ~HubCache() override { fs::remove_all(home_); }

  /// The folder of a model that is in the cache.
  fs::path fetch(const fs::path& cache) const {
    const fs::path model = cache / "models--some-org--Model-1.5";
    fs::path folder = model / "snapshots" / "0123abcd";
    fs::create_directories(folder);
    fs::create_directories(model / "refs");
    std::ofstream(model / "refs" / "main") << "0123abcd";
    return folder;
  }

  fs::path home_;
};

TEST_F(HubCache, HasModelsByTheirNames) {
  EXPECT_EQ(model_folder("some-org/Model-1.5"), "some-org/Model-1.5");

  const fs::path folder = fetch(home_ / ".cache/huggingface/hub");

  EXPECT_EQ(model_folder("some-org/Model-1.5"), folder.string());
  EXPECT_EQ(model_folder("some-org/Another"), "some-org/Another");
  EXPECT_EQ(hub_name_of(folder.string() + "/"), "some-org/Model-1.5");
  EXPECT_EQ(hub_name_of(home_.string()), std::nullopt);
}

TEST_F(HubCache, IsWhereTheVariablesOfHuggingFaceSay) {
  const fs::path own = fetch(home_ / "own"), of_home = fetch(home_ / "hf/hub"),
                 of_xdg = fetch(home_ / "x/huggingface/hub");

  ::setenv("XDG_CACHE_HOME", (home_ / "x").c_str(), 1);
  EXPECT_EQ(model_folder("some-org/Model-1.5"), of_xdg.string());
  ::setenv("HF_HOME", (home_ / "hf").c_str(), 1);
  EXPECT_EQ(model_folder("some-org/Model-1.5"), of_home.string());
  ::setenv("HF_HUB_CACHE", (home_ / "own").c_str(), 1);
  EXPECT_EQ(model_folder("some-org/Model-1.5"), own.string());
}

TEST_F(HubCache, IsNotAskedForPathsAndForWhatIsHere) {
  fetch(home_ / ".cache/huggingface/hub");
  for (const char* path :
       {"model", "/some-org/Model-1.5", "./some-org", "../Model-1.5", "a/b/c", "some-org/", "", "a b/c"})
    EXPECT_FALSE(is_hub_name(path)) << path;

  fs::current_path(home_);
  fs::create_directories("some-org/Model-1.5");

  EXPECT_EQ(model_folder("some-org/Model-1.5"), "some-org/Model-1.5");
}

TEST_F(HubCache, IsNotLeftByWhatItsFilesSay) {
  const fs::path folder = fetch(home_ / ".cache/huggingface/hub");
  std::ofstream(folder.parent_path().parent_path() / "refs/main") << "../../../..";

  EXPECT_EQ(model_folder("some-org/Model-1.5"), "some-org/Model-1.5");
}

TEST_F(HubCache, LackingAModelIsAnsweredWithHowToFetchIt) {
  EXPECT_EQ(suggest_fetching("org/name", "Check model.path."),
            "Check model.path. If it is a model on the Hugging Face hub, fetch it first: hf download org/name");
  EXPECT_EQ(suggest_fetching("/org/name", "Check model.path."), "Check model.path.");
}

}  // namespace
}  // namespace multicard
