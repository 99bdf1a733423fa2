#include "watch/WatchStatus.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/watch_status.hpp"

namespace multicard {
namespace {

TEST(WatchStatus, IsReadAsItWasWritten) {
  const WatchStatus written = test::whole_status();

  const WatchStatus read = read_status_text(status_text(written), "here");

  EXPECT_EQ(status_text(read), status_text(written));
  EXPECT_EQ(read.run->output, written.run->output);
  EXPECT_EQ(read.version, written.version);
  EXPECT_TRUE(std::isnan(read.run->history.at(1).loss));
  EXPECT_EQ(read.run->history.at(2).loss, 0.5);
  EXPECT_TRUE(std::isnan(read.run->checkpoint.training_s));
  EXPECT_EQ(read.run->per_rank.at(1).reduce_share, 0.25);
}

TEST(WatchStatus, OfSweepsAndSharesIsReadAsItWasWritten) {
  WatchStatus written = status_of_process("share");
  written.sweep = WatchedSweep{16, 5, 1, "0005  ranks 2", "results/x/variants/0005", 30};
  written.share.emplace().tasks = {{"vision", "training", "results/s/tasks/vision", 0, 2, "0-1", 10, 90, 0.1, kNone}};
  written.share->changes = {{1.5, "vision", 0, 2, 0.25, 0.5, "is to be measured"}};

  const WatchStatus read = read_status_text(status_text(written), "here");

  EXPECT_EQ(status_text(read), status_text(written));
  EXPECT_EQ(read.sweep->failed, 1);
  EXPECT_EQ(read.share->changes.at(0).reason, "is to be measured");
  EXPECT_TRUE(std::isnan(read.share->tasks.at(0).left_s));
}

TEST(WatchStatus, CutOffAtAnyByteIsADataError) {
  const std::string text = status_text(test::whole_status());

  for (std::size_t length = 0; length + 1 < text.size(); ++length)
    EXPECT_THROW(read_status_text(text.substr(0, length), "here"), DataError) << length;
}

TEST(WatchStatus, OfAnotherVersionOrTypeIsADataError) {
  for (const char* text : {R"({"format":"multicard-status","version":2})", R"({"format":"other","version":1})", "[]",
                           R"({"format":"multicard-status","version":1,"kind":7})",
                           R"({"format":"multicard-status","version":1,"run":{"history":{"step":[1],"loss":[]}}})"})
    EXPECT_THROW(read_status_text(text, "here"), DataError) << text;
}

TEST(WatchStatus, KnowsWhetherItsProcessRuns) {
  WatchStatus status = status_of_process("run");
  EXPECT_EQ(is_writer_running(status), true);
  status.process_start += 1;  // another process has the number by now
  EXPECT_EQ(is_writer_running(status), false);
  status.host += ".elsewhere";
  EXPECT_EQ(is_writer_running(status), std::nullopt);
}

}  // namespace
}  // namespace multicard
