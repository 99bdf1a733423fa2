#include "config/Deck.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::message_of;

Deck deck_of(const std::string& text) {
  return Deck::parse(text, "d.yaml");
}

TEST(Deck, KeepsOrderKindsAndQuotesWhenWrittenAndReadBack) {
  const Deck deck = deck_of(
      "b: {y: 1, x: [1, two, {z: 3}]}\na: '5'\nn: null\nword: \"null\"\ntext: 'a, b: [c] # d'\nglob: \"data/*.h5\"\n"
      "lines: |\n  one\n  two\nempty: {}\nnone: []\n");

  const Deck again = Deck::parse(deck.to_yaml(), "d.yaml");

  EXPECT_EQ(again.root(), deck.root()) << deck.to_yaml();
  EXPECT_EQ(again.root().keys.front(), "b");
  EXPECT_EQ(again.get_text("b.x"), "[1, two, {z: 3}]");
  EXPECT_EQ(again.get_text("lines"), "one\ntwo\n");
}

TEST(Deck, CountsElementsOfListsFromOne) {
  Deck deck = deck_of("tasks: [{name: a, steps: 1}, {name: b}]\ngpus: [4, 8]\n");
  deck.set("tasks.1.steps", "5");
  deck.set("tasks.2.overrides", "{run.seed: 3}");
  deck.set("gpus.2", "16");
  EXPECT_EQ(deck.get_text("tasks"), "[{name: a, steps: 5}, {name: b, overrides: {run.seed: 3}}]");
  EXPECT_EQ(deck.get_text("tasks.1.steps"), "5");
  EXPECT_EQ(deck.get_text("gpus"), "[4, 16]");
  deck.set("tasks.1.epochs", "2");
  EXPECT_EQ(deck.get_text("tasks.1"), "{name: a, epochs: 2}") << "the one length replaces the other";
  for (const char* path : {"tasks.3.steps", "tasks.0.steps", "tasks.a", "tasks.1x", "gpus.1.x"})
    EXPECT_NE(message_of<UsageError>([&] { deck.set(path, "1"); }).find(path), std::string::npos);
}

TEST(Deck, NamesFileAndLineOfASyntaxError) {
  const std::string message = message_of<UsageError>([] { deck_of("a: 1\nb: [1, 2\nc: 3\n"); });

  EXPECT_EQ(message.rfind("d.yaml:", 0), 0U) << message;
  EXPECT_NE(message.find("d.yaml:3"), std::string::npos) << message;
}

TEST(Deck, RefusesBytesThatAreNotUtf8) {
  const std::string message =
      message_of<UsageError>([] { Deck::parse("task: image\ndata: {train: a\xff.h5}\n", "x"); });
  EXPECT_EQ(message, "x:2: cannot be read as YAML (it is not valid UTF-8) Rename files whose names are not UTF-8.");
  EXPECT_EQ(Deck::parse("a: größe", "x").get_text("a"), "größe");
  EXPECT_EQ(Deck::parse(std::string("\xff\xfe"
                                    "a\0:\0 \0b\0",
                                    10),
                        "x")
                .get_text("a"),
            "b")
      << "UTF-16";
}

TEST(Deck, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(message_of<UsageError>([] { deck_of("run:\n  seed: 1\n  seed: 2\n"); }),
            "d.yaml:3: cannot be read as YAML (the key 'seed' appears twice in the same section)");
}

TEST(Deck, RefusesWhatIsNoDeck) {
  EXPECT_THROW(deck_of("just text"), UsageError);
  EXPECT_THROW(deck_of("[1, 2]"), UsageError);
  EXPECT_THROW(deck_of("a: 1\n---\nb: 2\n"), UsageError);
  for (const char* text : {",x", "a: 1\n,", "]", "a: 1\n}"})  // at which yaml-cpp does not move on
    EXPECT_THROW(deck_of(text), UsageError) << text;
  EXPECT_THROW(deck_of("a: &x [*x]\n"), UsageError);
  EXPECT_THROW(deck_of("? [a, b]\n: 1\n"), UsageError);
  EXPECT_EQ(deck_of("").root(), Value::map());
  EXPECT_EQ(deck_of("# only a comment\n").root(), Value::map());
}

TEST(Deck, RefusesATextThatAliasesMakeHuge) {
  std::string text = "a: &x " + std::string(1 << 20, 'x') + "\nb: [*x";
  for (int i = 0; i < 100; ++i)
    text += ", *x";

  EXPECT_THROW(deck_of(text + "]\n"), UsageError);
}

TEST(Deck, LoadsAFileAndAppliesOverridesInOrder) {
  const test::ScratchFolder folder;
  const std::string path = folder / "x.yaml";
  std::ofstream(path) << "run: {epochs: 1, seed: 1}\n";

  const Deck deck = Deck::load(path, {"run.seed=2", "run.seed=3", "optimizer.betas=[0.8, 0.9]", "data.train=a=b/*.h5",
                                      "run.wall_limit=0:10:00", "run.device="});

  EXPECT_EQ(deck.name(), path);
  EXPECT_EQ(deck.get_text("run.seed"), "3");
  EXPECT_EQ(deck.get_text("run.epochs"), "1");
  EXPECT_EQ(deck.get_text("optimizer.betas"), "[0.8, 0.9]");
  EXPECT_EQ(deck.get_text("data.train"), "a=b/*.h5");
  EXPECT_EQ(deck.get_text("run.wall_limit"), "0:10:00");
  EXPECT_EQ(deck.get_text("run.device"), "null");
  EXPECT_EQ(deck.get_text("not.there"), "");
}

TEST(Deck, ReplacesAWholeSectionByAnOverride) {
  Deck deck = Deck::parse("method: {name: lora, rank: 4}\nrun: {seed: 1}\n", "x.yaml");

  deck.apply(parse_overrides({"method={name: full}"}));

  EXPECT_EQ(deck.get_text("method"), "{name: full}");
  EXPECT_EQ(deck.get_text("run.seed"), "1");
}

TEST(Deck, NamesAFileThatCannotBeRead) {
  const test::ScratchFolder folder;
  const std::string missing = folder / "missing.yaml";
  const std::string decks =
      "Name a YAML file. 'multicard recipes ls' lists decks for common jobs, 'multicard recipes cp NAME' copies one.";

  EXPECT_EQ(message_of<UsageError>([&] { Deck::load(missing); }),
            "deck " + missing + " cannot be read (No such file or directory) " + decks);
  EXPECT_EQ(message_of<UsageError>([&] { Deck::load(folder.path().string()); }),
            "deck " + folder.path().string() + " cannot be read (it is a folder) " + decks);
}

TEST(Deck, RefusesOverridesOfAnotherForm) {
  for (const char* bad : {"run.epochs", "=3", "run..epochs=3", ".run=3", "run.=3", "run epochs=3", "a=[1, 2", "a=*x"})
    EXPECT_THROW(parse_overrides({bad}), UsageError) << bad;
  EXPECT_EQ(message_of<UsageError>([] { parse_overrides({"run.epochs"}); }),
            "override 'run.epochs' is not of the form key.path=value. Write for example run.epochs=2.");
}

TEST(Deck, ReadsAnOverrideWithALineFeedAsItIs) {
  const auto value_of = [](const std::string& text) {
    Deck deck = deck_of("{}");
    deck.apply(parse_overrides({"run.output=" + text}));
    return deck.get_text("run.output");
  };
  EXPECT_EQ(value_of("a\nb"), "a\nb");
  EXPECT_EQ(value_of("\"a b\""), "a b");
  EXPECT_EQ(value_of("{a: 1,\n b: 2}"), "{a: 1, b: 2}");
}

TEST(Deck, RefusesAPathThroughASingleValue) {
  Deck deck = deck_of("optimizer: sgd\n");

  EXPECT_THROW(deck.set("optimizer.name", "adamw"), UsageError);
  EXPECT_EQ(deck.get_text("optimizer"), "sgd");
}

TEST(Deck, LetsALaterLayerReplaceTheKeyThatStandsForTheSame) {
  Deck deck = deck_of("run: {epochs: 3, global_batch: 64}\n");

  deck.set("run.steps", "10");
  EXPECT_EQ(deck.get_text("run"), "{global_batch: 64, steps: 10}");

  deck.apply(parse_overrides({"run.epochs=2", "run.batch_per_rank=8"}));
  EXPECT_EQ(deck.get_text("run"), "{epochs: 2, batch_per_rank: 8}");

  deck.apply(parse_overrides({"run.steps=null"}));
  EXPECT_EQ(deck.get_text("run.epochs"), "2");
}

TEST(Deck, KeepsBothOfSuchAPairThatOneLayerSets) {
  Deck deck = deck_of("{}");

  deck.apply(parse_overrides({"run.epochs=2", "run.steps=5"}));

  EXPECT_EQ(deck.get_text("run"), "{epochs: 2, steps: 5}");
}

TEST(Deck, MergesMapsAndReplacesTheRest) {
  Deck deck = deck_of("run: {output: a, seed: 1}\noptimizer: {betas: [1, 2]}\n");

  deck.merge(deck_of("run: {output: b}\noptimizer: {betas: [3]}\ndata:\n  limit: 5\n").root());
  deck.merge(deck_of("run:\n").root());

  EXPECT_EQ(deck.get_text("run"), "{output: b, seed: 1}");
  EXPECT_EQ(deck.get_text("optimizer.betas"), "[3]");
  EXPECT_EQ(deck.get_text("data.limit"), "5");
}

TEST(Deck, ReplacesMapsOfNamesWithDots) {
  Deck deck = deck_of("method: {rank: 8, ranks: {a.b: 1, c: 2}}\n");

  deck.merge(deck_of("method: {ranks: {d.e: 3}}\n").root());

  EXPECT_EQ(deck.get_text("method"), "{rank: 8, ranks: {d.e: 3}}");
}

TEST(Deck, ResolvesPathsFromItsOwnFolder) {
  const Deck deck = Deck::parse("", "inputs/image/sweeps/s.yaml");
  setenv("MULTICARD_TEST_DECKS", "/decks", 1);

  EXPECT_EQ(deck.resolve_path("../base.yaml"), "inputs/image/base.yaml");
  EXPECT_EQ(deck.resolve_path("/abs/base.yaml"), "/abs/base.yaml");
  EXPECT_EQ(deck.resolve_path("${MULTICARD_TEST_DECKS}/b.yaml"), "/decks/b.yaml");
  EXPECT_EQ(Deck::parse("", "s.yaml").resolve_path("b.yaml"), "b.yaml");
}

}  // namespace
}  // namespace multicard
