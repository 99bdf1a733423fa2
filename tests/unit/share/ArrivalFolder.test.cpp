#include "share/ArrivalFolder.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;

ShareOptions options_with(const std::string& task) {
  ShareOptions options;
  options.tasks.emplace_back();
  options.tasks.back().name = task;
  return options;
}

TEST(ArrivalFolder, FindsEntriesInOrderAndClaimsThemOnce) {
  const ScratchFolder scratch;
  write_file(scratch / "deck.yaml", "task: image\ndata: {train: x.h5}\nrun: {steps: 5}\n");
  write_file(scratch / "in/b.yaml", "{name: b, deck: ../deck.yaml, steps: 7}\n");
  write_file(scratch / "in/a.yaml", "{name: a, deck: ../deck.yaml}\n");
  write_file(scratch / "in/.c.yaml", "half");
  write_file(scratch / "in/readme.txt", "no task");
  ArrivalFolder folder(scratch / "in");

  const std::vector<ShareArrival> found = folder.find(options_with("first"), {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "a");
  EXPECT_EQ(found[1].name, "b");
  EXPECT_NE(found[1].entry.find("task: image"), std::string::npos) << "the run deck is sent with it";
  EXPECT_EQ(folder.find(options_with("first"), {}).size(), 2U) << "it is claimed apart";

  ArrivalFolder::claim(found);
  EXPECT_TRUE(folder.find(options_with("first"), {}).empty());
  EXPECT_TRUE(fs::exists(scratch / "in/a.yaml.claimed"));
  EXPECT_TRUE(fs::exists(scratch / "in/.c.yaml"));
}

TEST(ArrivalFolder, WhatTheRecordKnowsIsOnlyClaimed) {
  const ScratchFolder scratch;
  write_file(scratch / "deck.yaml", "task: image\ndata: {train: x.h5}\n");
  write_file(scratch / "in/a.yaml", "{name: a, deck: ../deck.yaml}\n");
  ShareRecord known;
  ArrivalFolder folder(scratch / "in");
  known.arrivals = folder.find(options_with("first"), {});
  ASSERT_EQ(known.arrivals.size(), 1U);
  EXPECT_TRUE(folder.find(options_with("first"), known).empty());
  EXPECT_TRUE(fs::exists(scratch / "in/a.yaml.claimed"));
}

TEST(ArrivalFolder, AFileOfANameThatWasUsedBeforeIsAnotherTask) {
  const ScratchFolder scratch;
  write_file(scratch / "deck.yaml", "task: image\ndata: {train: x.h5}\n");
  write_file(scratch / "in/job.yaml", "{name: a, deck: ../deck.yaml}\n");
  ArrivalFolder folder(scratch / "in");
  ShareRecord known;
  known.arrivals = folder.find(options_with("first"), {});
  ArrivalFolder::claim(known.arrivals);
  write_file(scratch / "in/job.yaml", "{name: b, deck: ../deck.yaml}\n");
  const std::vector<ShareArrival> found = folder.find(options_with("first"), known);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "b");
}

TEST(ArrivalFolder, WhatCannotBeUsedIsRefused) {
  const ScratchFolder scratch;
  write_file(scratch / "deck.yaml", "task: image\ndata: {train: x.h5}\n");
  write_file(scratch / "in/1.yaml", "{name: first, deck: ../deck.yaml}\n");
  write_file(scratch / "in/2.yaml", "{name: known, deck: ../deck.yaml}\n");
  write_file(scratch / "in/3.yaml", "{name: x, deck: ../none.yaml}\n");
  write_file(scratch / "in/4.yaml", "{name: y, deck: ../deck.yaml, stepz: 4}\n");
  write_file(scratch / "in/5.yaml", "{name: none, deck: ../deck.yaml, steps: 0}\n");
  write_file(scratch / "in/6.yaml", "{name: z, deck: ../deck.yaml}\n");
  ShareRecord known;
  known.arrivals.push_back({"known", "elsewhere.yaml", ""});
  const std::vector<ShareArrival> found = ArrivalFolder(scratch / "in").find(options_with("first"), known);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "z");
  for (const char* name : {"1", "2", "3", "4", "5"})
    EXPECT_TRUE(fs::exists(scratch / (std::string("in/") + name + ".yaml.refused"))) << name;
}

TEST(ArrivalFolder, NoFolderBringsNothing) {
  EXPECT_TRUE(ArrivalFolder(std::nullopt).find({}, {}).empty());
  EXPECT_TRUE(ArrivalFolder("/no/such/folder").find({}, {}).empty());
}

}  // namespace
}  // namespace multicard
