#include "config/DeckKind.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace multicard {
namespace {

using test::message_of;

std::optional<DeckKind> kind(const std::string& text) {
  const std::optional<FoundKind> found = kind_of(Deck::parse(text, "d.yaml"));
  return found ? std::optional(found->kind) : std::nullopt;
}

TEST(DeckKind, IsDecidedByTopLevelKeys) {
  EXPECT_EQ(kind("task: image\nrun: {epochs: 1}"), DeckKind::run);
  EXPECT_EQ(kind("data: {train: a.h5}"), DeckKind::run);
  EXPECT_EQ(kind("base: a.yaml\nrepeat: 2"), DeckKind::sweep);
  EXPECT_EQ(kind("tasks: [{name: a, deck: a.yaml}]\nobjective: fairness"), DeckKind::share);
  EXPECT_EQ(kind("arrivals: {folder: new}"), DeckKind::share);
  EXPECT_EQ(kind("machine: {gpus: 4}\ntasks: [{name: a, table: a.csv}]"), DeckKind::plan);
  EXPECT_EQ(kind("machine: {gpus: 4}\ntasks: [{name: a}]"), DeckKind::plan);
  EXPECT_EQ(kind("tasks: [{name: a}, {name: b, results: r.h5}]"), DeckKind::plan);
  EXPECT_EQ(kind("replay: {layout: pollux}"), DeckKind::plan);
}

TEST(DeckKind, OfASweepMayHaveTheKeysOfRuns) {
  EXPECT_EQ(kind("base: a.yaml\nmodel: {width: 0.5}\ndata: {image_size: 32}"), DeckKind::sweep);
  EXPECT_EQ(kind("task: image\nsweep: {ranks: [1, 2]}"), DeckKind::sweep);
}

TEST(DeckKind, IsOpenWhereKeysSayNothingOrContradictEachOther) {
  for (const char* text :
       {"", "run: {output: out}", "objective: makespan", "base: null", "task: null", "task: image\ntasks: [{name: a}]",
        "base: a.yaml\nmachine: {gpus: 1}", "policy: {name: equal}\nreplay: {nodes: 1}", "name: a\ndeck: a.yaml"})
    EXPECT_EQ(kind(text), std::nullopt) << text;
}

TEST(DeckKind, ThatIsWrongIsNamedWithItsCommand) {
  const auto complaint = [](const std::string& text, DeckKind wanted) {
    return message_of<UsageError>([&] { check_kind(Deck::parse(text, "d.yaml"), wanted); });
  };
  EXPECT_EQ(complaint("base: a.yaml", DeckKind::run),
            "deck d.yaml is a sweep deck, not a run deck (it has the key base) "
            "Start it with multicard sweep d.yaml, or name a run deck.");
  EXPECT_EQ(complaint("model: {width: 1}", DeckKind::plan),
            "deck d.yaml is a run deck, not a plan deck (it has the key model) "
            "Start it with multicard run d.yaml, or name a plan deck.");
  EXPECT_NO_THROW(check_kind(Deck::parse("base: a.yaml", "d.yaml"), DeckKind::sweep));
  EXPECT_NO_THROW(check_kind(Deck::parse("base: a.yaml\ntasks: []", "d.yaml"), DeckKind::run));
}

}  // namespace
}  // namespace multicard
