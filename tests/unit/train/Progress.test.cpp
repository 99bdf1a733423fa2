#include "train/Progress.hpp"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/Log.hpp"

namespace multicard {
namespace {

ProgressState example() {
  ProgressState state;
  state.step = 432;
  state.num_steps = 624;
  state.epoch = 1;
  state.num_epochs = 2;
  state.loss = 0.6123;
  state.learning_rate = 0.0714;
  state.rate = 208.4;
  state.step_s = 0.307;
  state.data_share = 0.001;
  state.reduce_share = 0.0123;
  state.memory_bytes = 1'120'000'000;
  return state;
}

TEST(Progress, LineNamesEpochStepLossRateTimeLeftCommunicationAndMemory) {
  EXPECT_EQ(progress_line(example()),
            "epoch 2/2  step 432/624  loss 0.612     208 img/s        59 s left  comm  1 %  mem 1.12 GB    307 ms  "
            "data  0 %  lr 0.0714");
}

TEST(Progress, ANarrowTerminalGetsWhatMattersMost) {
  const std::string whole = progress_line(example());
  EXPECT_EQ(progress_line(example(), whole.size()), whole);
  EXPECT_EQ(progress_line(example(), 79),
            "step 432/624  loss 0.612     208 img/s        59 s left  comm  1 %  mem 1.12 GB");
  EXPECT_EQ(progress_line(example(), 59), "step 432/624  loss 0.612     208 img/s        59 s left");
  EXPECT_EQ(progress_line(example(), 30), "step 432/624  loss 0.612 ");
  for (std::size_t columns = 0; columns < whole.size(); ++columns)
    EXPECT_LE(progress_line(example(), columns).size(), columns);
}

TEST(Progress, NumbersKeepTheirColumns) {
  ProgressState later = example();
  later.step = 7;
  later.num_steps = 624;
  later.loss = 12.34;
  later.rate = 12345;
  later.step_s = 6.2;
  later.reduce_share = 0.5;
  later.memory_bytes = 973'000'000;
  const std::string first = progress_line(example()), second = progress_line(later);
  for (const char* word : {"loss", " img/s", " left", "comm", "mem", " ms", "data"})
    EXPECT_EQ(first.find(word), second.find(word)) << word << "\n" << first << "\n" << second;
}

const RunLabel kLabel{"[3/16] 0005", "[3/16] 0005  ranks 2  image_size 64"};

TEST(Progress, ALabelStandsBeforeTheLineAndIsWholeWhereThereIsRoom) {
  EXPECT_EQ(labelled_line({}, example(), 60), progress_line(example(), 60));
  EXPECT_EQ(labelled_line(kLabel, example(), 79),
            "[3/16] 0005  step 432/624  loss 0.612     208 img/s        59 s left  comm  1 %");
  EXPECT_EQ(labelled_line(kLabel, example(), 97),
            "[3/16] 0005  ranks 2  image_size 64  step 432/624  loss 0.612     208 img/s        59 s left");
  EXPECT_EQ(labelled_line(kLabel, example(), 1000), kLabel.whole + "  " + progress_line(example()));
  for (std::size_t columns = 0; columns < 200; ++columns)
    EXPECT_LE(labelled_line(kLabel, example(), columns).size(), columns);
}

/// What is written of two steps, of which the second is the last.
std::string written(const char* mode, Verbosity verbosity, int log_every, double rarely_s) {
  setenv("MULTICARD_PROGRESS", mode, 1);
  set_log_level(LogLevel::info);
  testing::internal::CaptureStderr();
  ProgressState state = example();
  state.num_steps = 433;
  {
    Progress progress(0, log_every, verbosity, verbosity == Verbosity::progress ? kLabel : RunLabel{}, rarely_s);
    progress.step(state);
    ++state.step;
    progress.step(state);
    progress.finish_line();
    log_info("end");
  }
  unsetenv("MULTICARD_PROGRESS");
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, OfOneRunOfManyLeavesNoLine) {
  const std::string text = written("live", Verbosity::progress, 1, 0);
  EXPECT_EQ(text.rfind("\r\033[K[3/16] 0005  ", 0), 0U) << text;
  EXPECT_TRUE(text.ends_with("\r\033[Kend\n")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(Progress, OfARunAloneKeepsItsLastLine) {
  const std::string text = written("live", Verbosity::normal, 1, 0);
  EXPECT_NE(text.find("step 433/433"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(" mem 1.12 GB\nend\n")) << text;
}

TEST(Progress, OfOneRunOfManyIsRareInALog) {
  EXPECT_EQ(written("plain", Verbosity::progress, 1, Progress::kRarely), "end\n");
  const std::string text = written("plain", Verbosity::progress, 0, 0);
  EXPECT_EQ(text, kLabel.whole + "  " + text.substr(kLabel.whole.size() + 2));
  EXPECT_NE(text.find("  step 432/433"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;  // the closing line stands for the last step
}

TEST(Progress, OfARunAloneFollowsLogEvery) {
  EXPECT_EQ(std::ranges::count(written("plain", Verbosity::normal, 1, 0), '\n'), 3);
  EXPECT_EQ(std::ranges::count(written("plain", Verbosity::normal, 1000, 0), '\n'), 2);
  EXPECT_EQ(written("plain", Verbosity::quiet, 1, 0), "end\n");
  EXPECT_EQ(written("off", Verbosity::progress, 1, 0), "end\n");
}

}  // namespace
}  // namespace multicard
