#include "config/DeckKey.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace multicard {
namespace {

using test::message_of;

const DeckKeys kKeys{
    {"rate", KeyTasks::any, KeyEffect::learning, "rate", "how fast"},
    {"net.width", KeyTasks::image, KeyEffect::work, "width", "how wide"},
    {"net.path", KeyTasks::llm, KeyEffect::identity, "net", "where"},
    {"tune.name", KeyTasks::llm, KeyEffect::work, "tuning", "how", {.reserved = "later", .available = "now soon"}},
    {"tune.deep.rank", KeyTasks::llm, KeyEffect::work, "rank", "how many"},
    {"speed", KeyTasks::any, KeyEffect::speed, "speed", "faster"},
    {"type", KeyTasks::any, KeyEffect::speed, "type", "of numbers", {.on_resume = OnResume::same}},
    {"log", KeyTasks::any, KeyEffect::bookkeeping, "log", "lines"}};

/// What the keys of `text` are refused for in a deck of `task`.
std::string complaint(const std::string& text, KeyTasks task) {
  return message_of<UsageError>([&] {
    const Deck deck = Deck::parse(text, "x.yaml");
    Section root(deck);
    reject_keys_of_other_tasks(root, deck, kKeys, task);
    reject_reserved_values(root, deck, kKeys);
    root.finish();
  });
}

TEST(DeckKey, IsFixedWhereTheNumbersDependOnIt) {
  for (const char* fixed : {"rate", "net.width", "net.path", "type"})
    EXPECT_TRUE(find_key(kKeys, fixed)->is_fixed()) << fixed;
  for (const char* free : {"speed", "log"})
    EXPECT_FALSE(find_key(kKeys, free)->is_fixed()) << free;
  EXPECT_EQ(find_key(kKeys, "net"), nullptr);
}

TEST(DeckKey, OfAnotherTaskIsNamedAsSuch) {
  EXPECT_EQ(complaint("net: {width: 2}", KeyTasks::llm),
            "deck x.yaml, net.width: belongs to task image (this deck's is llm)");
  EXPECT_EQ(complaint("net: {path: p}", KeyTasks::image),
            "deck x.yaml, net.path: belongs to task llm (this deck's is image)");
}

TEST(DeckKey, OfASectionThatOnlyAnotherTaskHasIsNamedByTheSection) {
  EXPECT_EQ(complaint("tune: {deep: {rank: 2}}", KeyTasks::image),
            "deck x.yaml, tune: belongs to task llm (this deck's is image)");
  EXPECT_EQ(complaint("tune: {}", KeyTasks::image), "deck x.yaml, tune: belongs to task llm (this deck's is image)");
}

TEST(DeckKey, SetToNullBelongsToAnyTask) {
  const Deck deck = Deck::parse("net: {width: null}\ntune: null\n", "x.yaml");
  Section root(deck);

  reject_keys_of_other_tasks(root, deck, kKeys, KeyTasks::llm);
  reject_keys_of_other_tasks(root, deck, kKeys, KeyTasks::image);
  EXPECT_NO_THROW(root.finish());
}

TEST(DeckKey, ReservedValuesAreNotAvailableYet) {
  EXPECT_EQ(complaint("tune: {name: later}", KeyTasks::llm),
            "deck x.yaml, tune.name: later is not available in this version (available: now, soon)");
}

}  // namespace
}  // namespace multicard
