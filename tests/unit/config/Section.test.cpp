#include "config/Section.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace multicard {
namespace {

using test::message_of;

enum class Layout { nhwc, nchw };
constexpr Word<Layout> kLayoutWords[] = {{"nhwc", Layout::nhwc}, {"nchw", Layout::nchw}};

Deck deck_of(const std::string& text) {
  return Deck::parse(text, "x.yaml");
}

/// The message that reading `key` of a one-key deck leads to.
template <class Read>
std::string complaint(const std::string& text, Read&& read) {
  return message_of<UsageError>([&] {
    const Deck deck = deck_of(text);
    Section root(deck);
    read(root);
    root.finish();
  });
}

TEST(Section, ReadsEveryType) {
  const Deck deck = deck_of("{b: true, i: -3, l: 9000000000, d: 4.0e-5, w: 7, s: word, t: '5', plus: +2}");
  Section root(deck);

  EXPECT_TRUE(root.get("b", false));
  EXPECT_EQ(root.get("i", 0), -3);
  EXPECT_EQ(root.get<std::int64_t>("l", 0), 9000000000);
  EXPECT_EQ(root.get("d", 0.0), 4.0e-5);
  EXPECT_EQ(root.get("w", 0.0), 7.0);
  EXPECT_EQ(root.get<std::string>("s", ""), "word");
  EXPECT_EQ(root.get<std::string>("t", ""), "5");
  EXPECT_EQ(root.get("plus", 0), 2);
  EXPECT_EQ(root.get("absent", 11), 11);
  EXPECT_NO_THROW(root.finish());
}

TEST(Section, CountsNullAsAbsent) {
  const Deck deck = deck_of("{a: null, b: ~, c: }");
  Section root(deck);

  EXPECT_EQ(root.get("a", 4), 4);
  EXPECT_EQ(root.optional<double>("b"), std::nullopt);
  EXPECT_FALSE(root.has("c"));
}

TEST(Section, NamesTheUnknownKeyTheKnownOnesAndTheNearest) {
  const Deck deck = deck_of("optimizer: {name: sgd, learning_rat: 0.1}\n");
  Section root(deck);
  Section optimizer = root.section("optimizer");
  optimizer.get<std::string>("name", "");
  optimizer.get("learning_rate", 0.1);
  optimizer.get("momentum", 0.0);

  EXPECT_EQ(message_of<UnknownKeyError>([&] { root.finish(); }),
            "deck x.yaml, optimizer.learning_rat: unknown key (known keys here: name, learning_rate, momentum) "
            "Did you mean learning_rate?");
}

TEST(Section, PointsToTheSectionWhereAKeyBelongs) {
  const Deck deck = deck_of("momentum: 0.9\n");
  Section root(deck);
  root.section("optimizer").get("momentum", 0.0);

  const std::string message = message_of<UnknownKeyError>([&] { root.finish(); });

  EXPECT_NE(message.find("Did you mean optimizer.momentum?"), std::string::npos) << message;
}

TEST(Section, ReportsAnUnknownKeyBeforeAWrongValue) {
  const Deck deck = deck_of("{epochs: many, epoch: 3}");
  Section root(deck);

  EXPECT_EQ(root.get("epochs", 1), 1);

  EXPECT_THROW(root.finish(), UnknownKeyError);
}

TEST(Section, NamesWrongTypes) {
  const auto whole = [](Section& root) { root.section("run").get("epochs", 1); };
  const auto number = [](Section& root) { root.get("x", 1.0); };
  const auto flag = [](Section& root) { root.get("x", true); };

  EXPECT_EQ(complaint("run: {epochs: many}", whole), "deck x.yaml, run.epochs: expected a whole number, got 'many'");
  EXPECT_EQ(complaint("run: {epochs: 1.5}", whole), "deck x.yaml, run.epochs: expected a whole number, got '1.5'");
  EXPECT_EQ(complaint("run: {epochs: [1, 2]}", whole),
            "deck x.yaml, run.epochs: expected a whole number, got '[1, 2]'");
  EXPECT_EQ(complaint("run: {epochs: 99999999999}", whole),
            "deck x.yaml, run.epochs: expected a whole number, got '99999999999'");
  EXPECT_EQ(complaint("run: fast", whole), "deck x.yaml, run: expected a section of keys, got 'fast'");
  EXPECT_EQ(complaint("x: .nan", number), "deck x.yaml, x: expected a number, got '.nan'");
  EXPECT_EQ(complaint("x: inf", number), "deck x.yaml, x: expected a number, got 'inf'");
  EXPECT_EQ(complaint("x: 1e999", number), "deck x.yaml, x: expected a number, got '1e999'");
  EXPECT_EQ(complaint("x: 0.1.2", number), "deck x.yaml, x: expected a number, got '0.1.2'");
  EXPECT_EQ(complaint("x: 1", flag), "deck x.yaml, x: expected true or false, got '1'");
  EXPECT_EQ(complaint("x: 'true'", flag), "deck x.yaml, x: expected true or false, got 'true'");
}

TEST(Section, ChecksRanges) {
  const auto bounded = [](Section& root) { root.get_in_range("x", 1, 1, 4096); };
  const auto open = [](Section& root) { root.get_in_range("x", 1.0, 0.5, std::numeric_limits<double>::max()); };

  EXPECT_EQ(complaint("x: 5000", bounded), "deck x.yaml, x: expected 1 to 4096, got 5000");
  EXPECT_EQ(complaint("x: 0", [](Section& root) { root.optional_in_range("x", kAboveZero, 5.0); }),
            "deck x.yaml, x: expected more than 0 and at most 5, got 0");
  EXPECT_EQ(complaint("x: 1", [](Section& root) { root.get_in_range("x", 0.5, 0.0, kBelowOne); }),
            "deck x.yaml, x: expected at least 0 and below 1, got 1");
  EXPECT_EQ(complaint("x: 0", bounded), "deck x.yaml, x: expected 1 to 4096, got 0");
  EXPECT_EQ(complaint("x: 0.25", open), "deck x.yaml, x: expected at least 0.5, got 0.25");
}

TEST(Section, MissesRequiredKeys) {
  EXPECT_EQ(complaint("a: 1",
                      [](Section& root) {
                        root.get("a", 1);
                        root.require<std::string>("b");
                      }),
            "deck x.yaml, b: is missing");
}

TEST(Section, NamesTheNearestChoice) {
  EXPECT_EQ(complaint("layout: nhcw", [](Section& root) { root.choice("layout", Layout::nhwc, kLayoutWords); }),
            "deck x.yaml, layout: expected one of nhwc | nchw, got 'nhcw'. Did you mean nhwc?");
}

TEST(Section, ReadsWordsAsTheirValues) {
  const Deck deck = deck_of("layout: nchw");
  Section root(deck);

  EXPECT_EQ(root.choice("layout", Layout::nhwc, kLayoutWords), Layout::nchw);
  EXPECT_EQ(root.choice("absent", Layout::nhwc, kLayoutWords), Layout::nhwc);
  EXPECT_EQ(root.resolved().get_text("absent"), "nhwc");
  EXPECT_EQ(word_of(Layout::nchw, kLayoutWords), "nchw");
  EXPECT_EQ(value_of<Layout>("other", kLayoutWords), std::nullopt);
}

TEST(Section, NotesHowKeysAreRead) {
  const Deck deck = deck_of("{a: 3, one: {b: true}}");
  Section root(deck);
  Section one = root.section("one");
  const auto reading_of = [&](const std::string& key) {
    const KeyReading& reading = root.readings().at(key);
    return reading.type + " = " + reading.fallback;
  };

  root.get_in_range("a", 5, 1, 4096);
  root.get_in_range("rate", 0.5, kAboveZero, std::numeric_limits<double>::max());
  root.get_in_range("share", 0.0, 0.0, kBelowOne);
  root.optional_in_range("limit", 1, std::numeric_limits<int>::max());
  root.automatic("threads", 0, 8);
  root.list<double>("mean", {0.5, 1});
  root.optional_list<std::string>("names");
  root.choice("layout", Layout::nhwc, kLayoutWords);
  root.path("place", "here");
  root.require<std::string>("name");
  one.get("b", false);

  EXPECT_EQ(reading_of("a"), "integer, 1 ≤ x ≤ 4096 = `5`");
  EXPECT_EQ(reading_of("rate"), "number, > 0 = `0.5`");
  EXPECT_EQ(reading_of("share"), "number, 0 ≤ x < 1 = `0`");
  EXPECT_EQ(reading_of("limit"), "integer, ≥ 1 = none");
  EXPECT_EQ(reading_of("threads"), "integer, 0 ≤ x ≤ 8, or `auto` = `auto`");
  EXPECT_EQ(reading_of("mean"), "list of numbers = `[0.5, 1]`");
  EXPECT_EQ(reading_of("names"), "list of strings = none");
  EXPECT_EQ(reading_of("layout"), "`nhwc`, `nchw` = `nhwc`");
  EXPECT_EQ(reading_of("place"), "path = `here`");
  EXPECT_EQ(reading_of("name"), "string = required");
  EXPECT_EQ(reading_of("one.b"), "boolean = `false`");
}

TEST(Section, ReadsListsAndSingleValuesAlike) {
  const Deck deck = deck_of("{many: [1, 2.5], one: 3, empty: [], names: [a, b]}");
  Section root(deck);

  EXPECT_EQ(root.list<double>("many", {}), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(root.list<double>("one", {}), std::vector<double>{3});
  EXPECT_EQ(root.list<double>("empty", {7}), std::vector<double>{});
  EXPECT_EQ(root.list<double>("absent", {7}), std::vector<double>{7});
  EXPECT_EQ(root.list<std::string>("names", {}), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(complaint("x: [1, [2]]", [](Section& other) { other.list<int>("x", {}); }),
            "deck x.yaml, x: expected a whole number or a list of such, got '[1, [2]]'");
}

TEST(Section, ReadsNumbersByNamesInTheOrderWritten) {
  const Deck deck = deck_of(R"(m: {ranks: {'layers\.0\..*': 4, b.c: 16, a: 2}, none: null, empty: {}})");
  Section root(deck);
  Section map = root.section("m");

  EXPECT_EQ(map.numbers_by_name("ranks", 1, 64),
            (std::vector<std::pair<std::string, int>>{{R"(layers\.0\..*)", 4}, {"b.c", 16}, {"a", 2}}));
  EXPECT_TRUE(map.numbers_by_name("none", 1, 64).empty());
  EXPECT_TRUE(map.numbers_by_name("empty", 1, 64).empty());
  EXPECT_NO_THROW(root.finish());
  const Deck resolved = root.resolved();
  EXPECT_EQ(resolved.root().find_path("m")->find("ranks")->keys,
            (std::vector<std::string>{R"(layers\.0\..*)", "b.c", "a"}));
  EXPECT_EQ(Deck::parse(resolved.to_yaml(), "x.yaml").root(), resolved.root());
  const auto read = [](Section& other) { other.numbers_by_name("x", 1, 64); };
  EXPECT_EQ(complaint("x: {a: 0}", read), "deck x.yaml, x.a: expected 1 to 64, got 0");
  EXPECT_EQ(complaint("x: {a.b: c}", read), "deck x.yaml, x.a.b: expected a whole number, got 'c'");
  EXPECT_EQ(complaint("x: [1]", read), "deck x.yaml, x: expected a map of names to numbers, got '[1]'");
}

TEST(Section, ReadsListsOfSections) {
  const Deck deck = deck_of("m: {sets: [{files: a, weight: 2}, {files: b}], empty: []}");
  Section root(deck);
  Section map = root.section("m");
  std::vector<std::pair<std::string, double>> found;
  EXPECT_TRUE(map.is_list("sets"));
  for (Section& set : map.sections("sets")) {
    const auto files = set.require<std::string>("files");  // the resolved deck keeps the order of reading
    found.emplace_back(files, set.get("weight", 1.0));
  }

  EXPECT_EQ(found, (std::vector<std::pair<std::string, double>>{{"a", 2}, {"b", 1}}));
  EXPECT_TRUE(map.sections("empty").empty());
  EXPECT_TRUE(map.sections("absent").empty());
  EXPECT_FALSE(map.is_list("absent"));
  EXPECT_NO_THROW(root.finish());
  EXPECT_EQ(root.resolved().get_text("m.sets"), "[{files: a, weight: 2}, {files: b, weight: 1}]");
}

TEST(Section, NamesTheSectionOfAListThatIsWrong) {
  const auto read = [](Section& other) {
    for (Section& set : other.sections("x"))
      set.get_in_range("weight", 1, 1, 9);
  };
  EXPECT_EQ(complaint("x: [{weight: 2}, {weight: 0}]", read), "deck x.yaml, x.2.weight: expected 1 to 9, got 0");
  EXPECT_EQ(complaint("x: [{}, {wieght: 2}]", read).rfind("deck x.yaml, x.2.wieght: unknown key", 0), 0U);
  EXPECT_EQ(complaint("x: [1]", read), "deck x.yaml, x: expected a list of sections of keys, got '[1]'");
  EXPECT_EQ(complaint("x: {a: 1}", read), "deck x.yaml, x: expected a list of sections of keys, got '{a: 1}'");
}

TEST(Section, ReadsAuto) {
  const Deck deck = deck_of("{a: auto, b: 3, c: best}");
  Section root(deck);

  EXPECT_EQ(root.automatic("a", 0, 8), std::nullopt);
  EXPECT_EQ(root.automatic("b", 0, 8), 3);
  EXPECT_EQ(root.automatic("absent", 0, 8), std::nullopt);
  bool is_word = false;
  EXPECT_EQ(root.automatic("b", 0, 8, "best", is_word), 3);
  EXPECT_FALSE(is_word);
  EXPECT_EQ(root.automatic("c", 0, 8, "best", is_word), std::nullopt);
  EXPECT_TRUE(is_word);
  EXPECT_EQ(complaint("x: some", [](Section& other) { other.automatic("x", 0, 8); }),
            "deck x.yaml, x: expected a whole number, got 'some'");
}

TEST(Section, ReadsDurations) {
  const Deck deck = deck_of("{seconds: 90.5, clock: 1:02:03, long: 100:00:00}");
  Section root(deck);

  EXPECT_EQ(root.duration("seconds"), 90.5);
  EXPECT_EQ(root.duration("clock"), 3723.0);
  EXPECT_EQ(root.duration("long"), 360000.0);
  EXPECT_EQ(root.duration("absent"), std::nullopt);
  for (const char* bad : {"5:00", "1:60:00", "1:00:61", "1:2:3", "-1:00:00", "0", "-5", "soon", "0:00:00"})
    EXPECT_EQ(complaint("x: " + std::string(bad), [](Section& other) { other.duration("x"); }),
              "deck x.yaml, x: expected seconds or H:MM:SS, got '" + std::string(bad) + "'");
}

TEST(Section, ExpandsPathsWhenTheyAreRead) {
  setenv("MULTICARD_TEST_DATA", "/big", 1);
  const Deck deck = deck_of("{a: \"${MULTICARD_TEST_DATA}/x*.h5\"}");
  Section root(deck);

  EXPECT_EQ(root.path("a", ""), "/big/x*.h5");
  EXPECT_EQ(root.path("b", "y"), "y");
  EXPECT_EQ(root.optional_path("c"), std::nullopt);
  EXPECT_EQ(complaint("x: ${MULTICARD_TEST_UNSET}/y", [](Section& other) { other.path("x", ""); })
                .rfind("deck x.yaml, x: path", 0),
            0U);
}

TEST(Section, GivesTheValuesItReadWithTheDefaults) {
  const Deck deck = deck_of("run: {seed: 3, nothing: null}\n");
  Section root(deck);
  Section run = root.section("run");
  run.get("seed", 1);
  run.get("epochs", 2);
  run.optional<int>("nothing");
  run.list<double>("betas", {0.9, 0.999});
  run.get<std::string>("word", "null");

  const Deck resolved = root.resolved();

  EXPECT_EQ(resolved.get_text("run"), "{seed: 3, epochs: 2, betas: [0.9, 0.999], word: null}");
  EXPECT_EQ(Deck::parse(resolved.to_yaml(), "x.yaml").root(), resolved.root());
}

}  // namespace
}  // namespace multicard
