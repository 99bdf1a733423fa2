#include "results/MetricSink.hpp"

#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "io/Bytes.hpp"
#include "results/EventFile.hpp"
#include "results/JsonLines.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using nlohmann::json;
using test::ScratchFolder;

/// The lines of a file without their times, which must be there.
std::vector<json> lines_of(const std::string& path) {
  std::vector<json> lines;
  const std::string text = read_file(path);
  EXPECT_TRUE(text.empty() || text.ends_with("\n"));
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    lines.push_back(json::parse(line));
    EXPECT_EQ(lines.back().erase("time"), 1u) << line;
  }
  return lines;
}

TEST(JsonLines, KeepsStepsAndNumbersOfUpdatesApart) {
  const ScratchFolder scratch;
  {
    JsonLines lines(scratch / "out/metrics.jsonl", 0);
    lines.add("train_loss", 0, 0.1);
    lines.add("learning_rate", 0, 1e-5);
    lines.add("eval_accuracy", 1, 0.5);
    lines.add("eval_loss", 1, std::numeric_limits<double>::infinity());
    lines.add("checkpoint_stall_s", 1, 0.25);
    lines.add("train_loss", 1, 1.0 / 3);
    lines.flush();
  }

  EXPECT_EQ(lines_of(scratch / "out/metrics.jsonl"),
            (std::vector<json>{{{"step", 0}, {"train_loss", 0.1}, {"learning_rate", 1e-5}},
                               {{"step", 1}, {"eval_accuracy", 0.5}, {"checkpoint_stall_s", 0.25}},
                               {{"step", 1}, {"train_loss", 1.0 / 3}}}));
}

TEST(JsonLines, AreToldFromLinesOfAnother) {
  const ScratchFolder scratch;
  const std::string path = scratch / "metrics.jsonl";
  const auto is_own = [&](const std::string& text) {
    std::ofstream(path) << text;
    return is_metrics_file(path);
  };
  const std::string own = "{\"step\":12,\"time\":1764.125,\"train_loss\":0.5}\n";
  for (const char* rest : {"", "{", "{\"step\"", "{\"step\":1", "{\"step\":13,\"ti", "{\"step\":13,\"time\":1764."})
    EXPECT_TRUE(is_own(own + rest)) << rest;
  for (const char* other :
       {"{\"step\": 1, \"loss\": 2.5}\n", "{\"step\":1}\n", "{\"step\":1,\"loss\":2.5}\n", "{}\n", "\n", "{\"epoch\":1",
        "{\"step\":7,\"time\":\"Monday, my notes\"}", "{\"step\":,\"time\":1", "{\"step\":1,\"loss"})
    EXPECT_FALSE(is_own(own + other)) << other;
}

TEST(JsonLines, AContinuedRunReplacesTheStepsItRepeats) {
  const ScratchFolder scratch;
  const std::string path = scratch / "metrics.jsonl";
  {
    JsonLines lines(path, 0);
    for (std::int64_t step = 0; step < 6; ++step)
      lines.add("train_loss", step, 10.0);
    lines.flush();
  }
  OutputFile(path, Opening::append).write(R"({"step":6,"time":1.0,"train_lo)");  // killed in the middle of a line
  {
    JsonLines lines(path, 4);
    lines.add("train_loss", 4, 20.0);
    lines.flush();
  }

  const std::vector<json> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[3], (json{{"step", 3}, {"train_loss", 10.0}}));
  EXPECT_EQ(lines[4], (json{{"step", 4}, {"train_loss", 20.0}}));
}

TEST(JsonLines, AHalfLineIsDroppedWhereTheRunContinuesAfterIt) {
  const ScratchFolder scratch;
  const std::string path = scratch / "metrics.jsonl";
  write_file(path, "{\"step\":0,\"time\":1.0}\n{\"step\":1,\"ti");
  JsonLines(path, 5).flush();
  EXPECT_EQ(read_file(path), "{\"step\":0,\"time\":1.0}\n");
}

TEST(JsonLines, LinesOfEarlierStepsAfterLaterOnesAreKept) {
  const ScratchFolder scratch;
  const std::string path = scratch / "metrics.jsonl";
  {
    JsonLines lines(path, 0);
    lines.add("train_loss", 0, 1.0);
    lines.add("eval_loss", 1, 2.0);
    lines.add("rows_per_s", 0, 3.0);  // as a step with an evaluation writes them
    lines.add("train_loss", 1, 4.0);
    lines.flush();
  }
  JsonLines(path, 1).flush();
  EXPECT_EQ(lines_of(path),
            (std::vector<json>{{{"step", 0}, {"train_loss", 1.0}}, {{"step", 0}, {"rows_per_s", 3.0}}}));
}

/// Fails from its `healthy`-th call on.
class FullSink final : public MetricSink {
 public:
  explicit FullSink(int healthy) : healthy_(healthy) {}
  void add(const std::string&, std::int64_t, double) override { flush(); }
  void flush() override {
    if (healthy_-- <= 0) throw DataError("x cannot be written", "No space left on device");
  }

 private:
  int healthy_;
};

TEST(MetricFeed, GivesUpASinkThatFailsAndGoesOnWithTheOthers) {
  const ScratchFolder scratch;
  std::vector<std::string> warnings;
  {
    MetricFeed feed([&](const std::string& warning) { warnings.push_back(warning); });
    feed.open([] { return std::make_unique<FullSink>(2); });
    feed.open([&] { return std::make_unique<JsonLines>(scratch / "metrics.jsonl", 0); });
    for (std::int64_t step = 0; step < 5; ++step)
      feed.add("train_loss", step, 1);
  }

  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("No space left on device"), std::string::npos) << warnings[0];
  EXPECT_EQ(lines_of(scratch / "metrics.jsonl").size(), 5u);
}

TEST(MetricFeed, WarnsOfASinkThatCannotBeOpened) {
  const ScratchFolder scratch;
  write_file(scratch / "file", "");
  int num_warnings = 0;
  MetricFeed feed([&](const std::string&) { ++num_warnings; });
  feed.open([&] { return std::make_unique<EventFile>(scratch / "file", 0, ""); });
  feed.add("train_loss", 0, 1);
  EXPECT_EQ(num_warnings, 1);
}

}  // namespace
}  // namespace multicard
