#include "watch/StatusWriter.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/RegularFile.hpp"
#include "support/watch_status.hpp"
#include "watch/Prometheus.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;

class StatusWriterTest : public testing::Test {
 protected:
  StatusWriterTest() { fs::remove_all(folder_); }
  ~StatusWriterTest() override { fs::remove_all(folder_); }

  WatchStatus read() const { return read_status_text(read_file(status_file(folder_)), "here"); }
  std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_ = (fs::temp_directory_path() / "multicard-status-writer").string();
};

TEST_F(StatusWriterTest, LeavesNothingOfACommandThatIsRefusedAtOnce) {
  { const StatusWriter writer(status_of_process("run"), {folder_, ""}); }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(StatusWriterTest, WritesAtMostOnceASecondAndAtTheEnd) {
  {
    StatusWriter writer(test::whole_status(), {folder_, folder_ + "/x.prom"});
    writer.write_soon();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(read().run->step, 30);
    writer.change([](WatchStatus& status) { status.run->step = 31; });
    writer.write_soon();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(read().run->step, 30) << "within the second";
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    EXPECT_EQ(read().run->step, 31);
    writer.change([](WatchStatus& status) { status.state = "finished"; });
  }
  EXPECT_EQ(read().state, "finished");
  EXPECT_TRUE(is_prometheus_file(folder_ + "/x.prom"));
  EXPECT_TRUE(is_status_file(status_file(folder_)));
  EXPECT_EQ(num_files(), 2U) << "no temporary file stays";
}

TEST_F(StatusWriterTest, LeavesAFileOfOthersAlone) {
  fs::create_directories(folder_);
  std::ofstream(status_file(folder_)) << "{\"mine\": 1}";
  StatusWriter writer(test::whole_status(), {folder_, folder_ + "/x.prom"});
  writer.write_soon();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::optional<std::string> warning = writer.take_warning();
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->find("The run continues without it"), std::string::npos) << *warning;
  EXPECT_FALSE(writer.take_warning());
  EXPECT_EQ(read_file(status_file(folder_)), "{\"mine\": 1}");
  EXPECT_TRUE(fs::exists(folder_ + "/x.prom")) << "the other file is written all the same";
}

TEST_F(StatusWriterTest, SaysAtTheEndWhatTheLastWriteMet) {
  fs::create_directories(folder_);
  std::ofstream(status_file(folder_)) << "{\"mine\": 1}";
  testing::internal::CaptureStderr();
  {
    StatusWriter writer(test::whole_status(), {folder_, ""});
    writer.change([](WatchStatus& status) { status.state = "finished"; });
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const std::size_t at = said.find("The run continues without it");
  EXPECT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find("The run continues without it", at + 1), std::string::npos) << "once";
}

TEST_F(StatusWriterTest, SurvivesAChangeThatFails) {
  {
    StatusWriter writer(test::whole_status(), {folder_, ""});
    writer.change([](WatchStatus&) { throw std::runtime_error("no memory"); });
    writer.change([](WatchStatus& status) { status.state = "finished"; });
  }
  EXPECT_EQ(read().state, "finished");
}

}  // namespace
}  // namespace multicard
