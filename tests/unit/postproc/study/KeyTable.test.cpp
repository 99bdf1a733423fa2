#include "postproc/study/KeyTable.hpp"

#include <gtest/gtest.h>

#include "tasks/options/SettingKeys.hpp"

namespace multicard::post {
namespace {

KeyTable known() {
  return KeyTable({Source{"a.h5", {}, {}, {}, known_setting_keys()}});
}

TEST(KeyTable, CallsSettingsAsTheFileDoes) {
  EXPECT_EQ(known().label("parallel.bucket_mb"), "bucket size");
  EXPECT_EQ(known().label("method.rank"), "LoRA rank");
  EXPECT_EQ(known().label("data.image_size", "224"), "224 px");
  EXPECT_EQ(known().label("data.pin_memory", "1"), "pinned");
  EXPECT_EQ(known().label("optimizer.clip_norm", "2"), "clip norm 2");
}

TEST(KeyTable, KnowsAttributesByTheirKeys) {
  EXPECT_EQ(known().label("bucket_mb"), "bucket size");
  EXPECT_EQ(known().label("parallel.powersgd_rank", "0"), "uncompressed gradients");
  EXPECT_EQ(known().label("parallel.powersgd_rank", "2"), "PowerSGD of rank 2");
  EXPECT_TRUE(known().changes_work("method"));
  EXPECT_TRUE(known().changes_work("model"));
  EXPECT_TRUE(known().changes_learning("learning_rate"));
  EXPECT_TRUE(known().is_bookkeeping("checkpoint_every"));
  EXPECT_FALSE(known().changes_work("strategy") || known().is_bookkeeping("strategy"));
}

TEST(KeyTable, KnowsAttributesThatNoDeckHas) {
  EXPECT_TRUE(known().changes_work("dataset"));
  EXPECT_TRUE(known().is_bookkeeping("repeat"));
  EXPECT_TRUE(KeyTable().changes_work("machine"));
}

TEST(KeyTable, TakesKeysOfAnotherProgramFromItsFile) {
  const KeyTable table(
      {Source{"a.h5", {}, {}, {}, {{"data.token_dropout", "dropped tokens", "learning"}}},
       Source{"b.h5", {}, {}, {}, {{"data.token_dropout", "other", "speed"}, {"x.size", "x", "work"}}}});

  EXPECT_EQ(table.label("data.token_dropout"), "dropped tokens");
  EXPECT_EQ(table.label("data.token_dropout", "0.1"), "dropped tokens 0.1");
  EXPECT_TRUE(table.changes_learning("data.token_dropout"));
  EXPECT_TRUE(table.changes_work("x.size"));
}

TEST(KeyTable, TakesTheStrongestEffectOfASection) {
  EXPECT_TRUE(known().changes_learning("data.normalize"));
  EXPECT_FALSE(known().is_bookkeeping("evaluate.questions"));
  EXPECT_TRUE(known().is_bookkeeping("profile"));
}

TEST(KeyTable, CountsTheDeviceAsWorkWhereverItIsNamed) {
  EXPECT_TRUE(known().changes_work("device"));
  EXPECT_TRUE(known().changes_work("run.device"));
}

TEST(KeyTable, APathOfADeckIsNotTheAttributeOfItsLastName) {
  const KeyTable table({Source{"a.h5", {}, {}, {}, {{"method.loss", "objective", "learning"}}}});
  EXPECT_TRUE(table.changes_learning("method.loss"));
  EXPECT_TRUE(table.is_bookkeeping("loss"));
}

TEST(KeyTable, TakesNamesForLabelsThatAreMissing) {
  const KeyTable table({Source{"a.h5", {}, {}, {}, {{"data.token_dropout", "", "learning"}}}});

  EXPECT_EQ(table.label("data.token_dropout"), "token dropout");
}

TEST(KeyTable, TakesWhatNoFileKnowsForAnOptionThatChangesSpeed) {
  const KeyTable none;

  EXPECT_EQ(none.label("data.image_size"), "image size");
  EXPECT_FALSE(none.changes_work("data.image_size") || none.changes_learning("data.image_size") ||
               none.is_bookkeeping("data.image_size"));
}

}  // namespace
}  // namespace multicard::post
