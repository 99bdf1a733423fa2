#include "watch/WatchedOutput.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "support/watch_status.hpp"
#include "watch/StatusWriter.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;

class WatchedOutputTest : public testing::Test {
 protected:
  WatchedOutputTest() { fs::remove_all(folder_); }
  ~WatchedOutputTest() override { fs::remove_all(folder_); }

  void write(const WatchStatus& status) {
    fs::create_directories(folder_);
    replace_file(status_file(folder_), status_text(status));
  }
  void write_part(std::size_t length) {
    std::ofstream(status_file(folder_)) << status_text(test::whole_status()).substr(0, length);
  }

  std::string folder_ = (fs::temp_directory_path() / "multicard-watched-output").string();
  WatchStatus status_ = test::whole_status();
};

TEST_F(WatchedOutputTest, WaitsForWhatIsNotThereYet) {
  WatchedOutput output(folder_);
  output.look(0);
  EXPECT_EQ(output.known().liveness, Liveness::missing);
  EXPECT_NE(output.known().remark.find("waiting for"), std::string::npos);
  fs::create_directories(folder_);
  write_part(40);
  output.look(0);
  EXPECT_EQ(output.known().liveness, Liveness::missing);
  write(status_);
  output.look(status_.updated);
  EXPECT_EQ(output.known().liveness, Liveness::working);
}

TEST_F(WatchedOutputTest, KeepsWhatItKnowsWhileTheFileIsCutOffOrAway) {
  write(status_);
  WatchedOutput output(folder_ + "/status.json");
  output.look(status_.updated);
  for (const std::size_t length : {0U, 1U, 100U, 500U}) {
    write_part(length);
    output.look(status_.updated);
    ASSERT_TRUE(output.known().status);
    EXPECT_EQ(output.known().status->run->step, 30);
  }
  fs::remove_all(folder_);
  output.look(status_.updated);
  EXPECT_EQ(output.known().status->run->step, 30);
  status_.run->step = 31;
  write(status_);
  output.look(status_.updated);
  EXPECT_EQ(output.known().status->run->step, 31);
}

TEST_F(WatchedOutputTest, KnowsAProcessThatIsGoneFromOneThatIsSilent) {
  const double late = status_.updated + WatchedOutput::kSilentS + 1;
  write(status_);
  WatchedOutput output(folder_);
  output.look(late);
  EXPECT_EQ(output.known().liveness, Liveness::silent) << "this process runs";
  ++status_.process_start;
  write(status_);
  output.look(status_.updated + 1);
  EXPECT_EQ(output.known().liveness, Liveness::working) << "its last words may be on the way";
  output.look(late);
  EXPECT_EQ(output.known().liveness, Liveness::gone);
  status_.state = "interrupted";
  write(status_);
  output.look(late);
  EXPECT_EQ(output.known().liveness, Liveness::ended);
}

TEST_F(WatchedOutputTest, ReadsTheFilesOfTasksAndNoOthers) {
  status_.share.emplace().tasks = {{"one", "", ""}, {"../../one", "", ""}, {"later", "", ""}};
  write(status_);
  fs::create_directories(folder_ + "/tasks/one");
  replace_file(status_file(folder_ + "/tasks/one"), status_text(test::whole_status()));
  WatchedOutput output(folder_);
  output.look(status_.updated);
  ASSERT_EQ(output.known().tasks.size(), 1U);
  EXPECT_EQ(output.known().tasks.at("one").step, 30);
}

}  // namespace
}  // namespace multicard
