// Token shards of every source on any number of ranks, and that nothing is left after an error.
#include "prepare/sets/TextPrepare.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>
#include <zlib.h>

#include "base/Error.hpp"
#include "base/SplitMix64.hpp"
#include "data/shards/TokenShards.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"
#include "unit/data/text_folder.hpp"

namespace multicard {
namespace {

using namespace test;

class TextPrepareTest : public TextFolder {
 protected:
  TextPrepareOptions options(const std::string& type, const std::string& input, const std::string& output) const {
    TextPrepareOptions options = TextFolder::options(type, input, output);
    if (type != "tokens" && type != "text") options.prompt_template = "plain";
    return options;
  }
  std::vector<std::string> texts(const TextPrepareOptions& options) const {
    std::vector<std::string> all;
    for (const std::string& path : prepare_text(options, world()).files)
      for (const std::string& text : shown(read_arrays(Hdf5File::open_read(path), "")))
        all.push_back(text);
    return all;
  }
  void expect_error(const TextPrepareOptions& options, ExitCode code, const std::string& text) const {
    const std::set<std::string> before = entries();
    try {
      prepare_text(options, world());
      ADD_FAILURE() << "no error with: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_EQ(error.scope(), world().size() > 1 ? Scope::all_ranks : error.scope()) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
    EXPECT_EQ(entries(), before);
  }
  /// Everything in the scratch folder, also names that start with a dot.
  std::set<std::string> entries() const {
    world().barrier();
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      names.insert(entry.path().filename().string());
    world().barrier();
    return names;
  }
};

/// Questions whose answers are of very different lengths.
std::string questions(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    const std::size_t length = 1 + below(splitmix64(3, static_cast<std::uint64_t>(i)), i % 10 == 0 ? 400 : 30);
    lines += R"({"question": "q)" + std::to_string(i) + R"(", "answer": ")" +
             std::string(length, static_cast<char>('a' + i % 26)) + "\"}\n";
  }
  return lines;
}

struct Stored {
  std::vector<Sequence> sequences, chosen, rejected;
  std::map<std::string, Hdf5Value> attributes;

  friend bool operator==(const Stored&, const Stored&) = default;
};

Stored read_shard(const std::string& path) {
  const Hdf5File file = Hdf5File::open_read(path);
  Stored stored;
  stored.attributes = file.attributes("/");
  if (file.exists("/tokens")) stored.sequences = read_arrays(file, "");
  if (file.exists("/chosen")) stored.chosen = read_arrays(file, "/chosen");
  if (file.exists("/rejected")) stored.rejected = read_arrays(file, "/rejected");
  return stored;
}

TEST_F(TextPrepareTest, StoresTheSameWhateverTheRanks) {
  const std::string input = write("q.jsonl", questions(101));
  TextPrepareOptions together = options("question-answer", input, "sub/train");
  together.num_shards = 4;
  together.max_length = 100;
  together.split = 0.25;
  TextPrepareOptions alone = together;
  alone.output = scratch_ / ("alone" + std::to_string(world().rank()));

  const TextPrepareResult a = prepare_text(together, world());
  const TextPrepareResult b = prepare_text(alone, Communicator::null());

  ASSERT_EQ(a.files.size(), 8u);
  EXPECT_EQ(a.files[0], scratch_ / "sub/train-train-00000-of-00004.h5");
  EXPECT_EQ(a.files[7], scratch_ / "sub/train-test-00003-of-00004.h5");
  EXPECT_EQ(a.num_records, 101);
  EXPECT_EQ(a.num_sequences, 101);
  EXPECT_GT(a.counts.num_cut, 0);
  EXPECT_EQ(a.counts.num_cut, b.counts.num_cut);
  EXPECT_EQ(a.num_tokens, b.num_tokens);
  EXPECT_EQ(a.num_trained, b.num_trained);
  std::multiset<std::string> all;
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < 8; ++i) {
    const Stored shard = read_shard(a.files[i]);
    EXPECT_TRUE(shard == read_shard(b.files[i])) << i;
    counts.push_back(shard.sequences.size());
    for (const std::string& text : shown(shard.sequences))
      all.insert(text);
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{19, 19, 19, 19, 7, 6, 6, 6}));
  together.split.reset();
  together.output = scratch_ / "whole";
  std::multiset<std::string> whole;
  for (const std::string& text : texts(together))
    whole.insert(text);
  EXPECT_EQ(all, whole);
}

TEST_F(TextPrepareTest, KeepsTheOrderOfTheInput) {
  const std::string first = write("a.json", R"([{"question": "1", "answer": "x"},
                                                {"question": "2", "answer": "y"}])");
  const std::string second = write("b.jsonl", "\n{\"question\": \"3\", \"answer\": \"z\"}\n");
  TextPrepareOptions both = options("question-answer", first, "set");
  both.inputs.push_back(second);
  both.num_shards = 2;
  EXPECT_EQ(texts(both), (std::vector<std::string>{"<s>1\n[[x</s>]]", "<s>2\n[[y</s>]]", "<s>3\n[[z</s>]]"}));
  EXPECT_EQ(read_shard(scratch_ / "set-00000-of-00002.h5").sequences.size(), 2u);
}

TEST_F(TextPrepareTest, DescribesTheWholeSetInEveryShard) {
  const std::string input = write("q.jsonl", questions(20));
  TextPrepareOptions chatml = options("question-answer", input, "set");
  chatml.prompt_template = "chatml";
  chatml.num_shards = 3;
  const TextPrepareResult result = prepare_text(chatml, world());
  for (const std::string& path : result.files) {
    const Hdf5File file = Hdf5File::open_read(path);
    EXPECT_EQ(file.attribute<std::string>("/", "format"), "multicard-tokens");
    EXPECT_EQ(file.attribute<std::int64_t>("/", "schema_version"), 1);
    EXPECT_EQ(file.attribute<std::string>("/", "template"), "chatml");
    EXPECT_EQ(file.attribute<std::string>("/", "dataset_type"), "question-answer");
    EXPECT_EQ(file.attribute<std::string>("/", "loss"), "completion");
    EXPECT_EQ(file.attribute<std::string>("/", "tokenizer_sha256"), sha256_of_file(scratch_ / "model/tokenizer.json"));
    EXPECT_EQ(file.attribute<std::string>("/", "source"), "q.jsonl");
    EXPECT_EQ(file.attribute<std::string>("/", "source_sha256"), sha256(sha256_of_file(input) + "  q.jsonl\n"));
    EXPECT_EQ(file.attribute<std::int64_t>("/", "count"), 20);
    EXPECT_EQ(file.attribute<std::int64_t>("/", "num_tokens"), result.num_tokens);
    EXPECT_EQ(file.attribute<std::int64_t>("/", "num_trained"), result.num_trained);
    EXPECT_EQ(file.attribute<std::int64_t>("/", "largest_id"), kImEnd);
    EXPECT_EQ(file.attribute<std::int64_t>("/", "max_length"), 0);
  }
  const TokenShards shards(scratch_ / "set*.h5", world());
  EXPECT_EQ(shards.info().num_tokens, result.num_tokens);
  EXPECT_EQ(shards.info().num_trained, result.num_trained);
  EXPECT_EQ(shards.info().largest_id, kImEnd);
}

TEST_F(TextPrepareTest, CutsAndDropsAndSplits) {
  TextPrepareOptions cut = options("question-answer",
                                   write("q.jsonl",
                                         "{\"question\": \"12\", \"answer\": \"345\"}\n"
                                         "{\"question\": \"123456\", \"answer\": \"7\"}\n"
                                         "{\"question\": \"1\", \"answer\": \"2\"}\n"),
                                   "cut");
  cut.max_length = 6;
  const TextPrepareResult result = prepare_text(cut, world());
  EXPECT_EQ(shown(read_shard(result.files.at(0)).sequences),
            (std::vector<std::string>{"<s>12\n[[34]]", "<s>1\n[[2</s>]]"}));
  EXPECT_EQ(result.counts.num_cut, 1);
  EXPECT_EQ(result.counts.num_lost_target, 1);
  EXPECT_EQ(result.counts.num_without_target, 0);

  TextPrepareOptions split =
      options("text", write("t.jsonl", "{\"text\": \"abcdefgh\"}\n{\"text\": \"xy\"}\n"), "split");
  split.max_length = 3;
  const TextPrepareResult parts = prepare_text(split, world());
  EXPECT_EQ(shown(read_shard(parts.files.at(0)).sequences),
            (std::vector<std::string>{"<s>[[ab]]", "c[[de]]", "f[[gh]]", "<s>[[xy]]"}));
  EXPECT_EQ(parts.counts.num_split, 2);
  EXPECT_EQ(parts.counts.num_without_target, 2);  // two ends of one token
}

TEST_F(TextPrepareTest, DropsRecordsWithoutATarget) {
  const std::string lines =
      R"({"messages": [{"role": "user", "content": "Hi"}]})"
      "\n"
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})";
  const TextPrepareResult result = prepare_text(options("chat", write("c.jsonl", lines), "set"), world());
  EXPECT_EQ(result.num_sequences, 1);
  EXPECT_EQ(result.counts.num_without_target, 1);
}

TEST_F(TextPrepareTest, KeepsPartsOfATextTogetherWhenSplitting) {
  std::string lines;
  for (int i = 0; i < 12; ++i)
    lines += "{\"text\": \"" + std::string(20, static_cast<char>('a' + i)) + "\"}\n";
  TextPrepareOptions split = options("text", write("t.jsonl", lines), "set");
  split.max_length = 5;
  split.split = 0.3;
  const TextPrepareResult result = prepare_text(split, world());
  std::set<char> train, test;
  for (const std::string& path : result.files)
    for (const Sequence& sequence : read_shard(path).sequences)
      (path.find("set-test-") != std::string::npos ? test : train)
          .insert(static_cast<char>(sequence.tokens[sequence.tokens[0] == kBos ? 1 : 0]));
  EXPECT_EQ(test.size(), 4u);  // 0.3 * 12, rounded
  EXPECT_EQ(train.size(), 8u);
  for (const char letter : test)
    EXPECT_EQ(train.count(letter), 0u);
}

TEST_F(TextPrepareTest, TakesPlainFilesGzipAndGlobs) {
  write("one.txt", "First.");
  write("two.md", "[Second]");
  EXPECT_EQ(texts(options("text", scratch_ / "*.[tm]*", "plain")),
            (std::vector<std::string>{"<s>[[First.</s>]]", "<s>[[[Second]</s>]]"}));
  on_root([&] {
    gzFile file = gzopen((scratch_ / "q.jsonl.gz").c_str(), "wb");
    gzputs(file, questions(30).c_str());
    gzclose(file);
  });
  const std::vector<std::string> zipped = texts(options("question-answer", scratch_ / "q.jsonl.gz", "zipped"));
  EXPECT_EQ(zipped, texts(options("question-answer", write("q.jsonl", questions(30)), "unzipped")));
}

TEST_F(TextPrepareTest, WritesPairs) {
  std::string lines;
  for (int i = 0; i < 9; ++i)
    lines += R"({"prompt": "p)" + std::to_string(i) + R"( ", "chosen": "good", "rejected": ")" +
             std::string(i + 1u, 'x') + "\"}\n";
  TextPrepareOptions pairs = options("preference", write("p.jsonl", lines), "pairs");
  pairs.num_shards = 2;
  const TextPrepareResult result = prepare_text(pairs, world());
  EXPECT_EQ(result.num_sequences, 9);
  const Stored second = read_shard(result.files.at(1));
  EXPECT_TRUE(second.sequences.empty());
  ASSERT_EQ(second.chosen.size(), 4u);
  EXPECT_EQ(shown(second.chosen[0]), "<s>p5 [[good</s>]]");
  EXPECT_EQ(shown(second.rejected[0]), "<s>p5 [[xxxxxx</s>]]");
  const TokenShards chosen(scratch_ / "pairs*.h5", world(), {ReadMethod::pread}, TokenPart::chosen);
  const TokenShards rejected(scratch_ / "pairs*.h5", world(), {ReadMethod::pread}, TokenPart::rejected);
  EXPECT_EQ(chosen.info().num_sequences, 9);
  EXPECT_EQ(chosen.info().num_trained + rejected.info().num_trained, result.num_trained);
  EXPECT_EQ(rejected.num_targets(8), 10);
}

TEST_F(TextPrepareTest, TakesTokensWithoutATokenizer) {
  const std::string input = write("t.jsonl", R"({"input_ids": [300, 5, 6], "labels": [-100, 5, -100]})"
                                             "\n"
                                             R"({"input_ids": [1, 2], "labels": [1, 2]})");
  const TextPrepareResult result = prepare_text(options("tokens", input, "set"), world());
  const Stored stored = read_shard(result.files.at(0));
  EXPECT_EQ(stored.sequences, (std::vector<Sequence>{{{300, 5, 6}, {0, 1, 0}}, {{1, 2}, {0, 1}}}));
  EXPECT_EQ(std::get<std::string>(stored.attributes.at("tokenizer_sha256")), "");
  EXPECT_EQ(std::get<std::string>(stored.attributes.at("loss")), "labels");
  EXPECT_EQ(std::get<std::int64_t>(stored.attributes.at("largest_id")), 300);

  const std::string mixed = write("m.jsonl", R"({"input_ids": [1, 2], "labels": [1, 2]})"
                                             "\n"
                                             R"({"chosen_input_ids": [1, 2], "chosen_labels": [1, 2],
                                                 "rejected_input_ids": [1, 2], "rejected_labels": [1, 2]})");
  on_root([&] {
    std::string text = read_file(mixed);
    text.erase(std::remove(text.begin() + 60, text.end(), '\n'), text.end());
    write_text(mixed, text);
  });
  expect_error(options("tokens", mixed, "mixed"), ExitCode::data, "1 of 2 records are pairs");
}

TEST_F(TextPrepareTest, ChoosesATemplate) {
  const std::string input = write("q.jsonl", R"({"question": "1", "answer": "2"})");
  TextPrepareOptions bare = options("question-answer", input, "bare");
  bare.prompt_template.clear();
  bare.tokenizer = scratch_ / "model/tokenizer.json";
  EXPECT_EQ(prepare_text(bare, world()).template_name, "alpaca");
  bare.tokenizer = scratch_ / "model";
  bare.output = scratch_ / "folder";
  EXPECT_EQ(prepare_text(bare, world()).template_name, "alpaca");
  bare.tokenizer = source_path("tests/data/tokenizers/smollm2").string();
  bare.output = scratch_ / "own";
  EXPECT_EQ(prepare_text(bare, world()).template_name, "smollm2");
}

TEST_F(TextPrepareTest, NamesABadRecordOrSkipsIt) {
  std::string lines = questions(60);
  lines.insert(lines.find("{\"question\": \"q40\""), "{\"question\": 5}\n\n");
  lines += "{\"question\": \"cut";
  TextPrepareOptions what = options("question-answer", write("q.jsonl", lines), "set");
  expect_error(what, ExitCode::data, "line 41 of " + (scratch_ / "q.jsonl"));
  what.skip_bad = true;
  const TextPrepareResult result = prepare_text(what, world());
  EXPECT_EQ(result.num_records, 62);
  EXPECT_EQ(result.num_skipped, 2);
  EXPECT_EQ(result.num_sequences, 60);

  const std::string array = write("q.json", R"([{"question": "1", "answer": "2"},
    {"question": "1", "answer": "2",}])");
  expect_error(options("question-answer", array, "array"), ExitCode::data, "element 2 of " + array + " (line 2)");
  expect_error(options("alpaca", scratch_ / "q.jsonl", "other"), ExitCode::data,
               "It looks like --type question-answer");
}

TEST_F(TextPrepareTest, RefusesInputThatIsNotThere) {
  expect_error(options("text", scratch_ / "nothing.txt", "set"), ExitCode::data, "nothing.txt");
  expect_error(options("text", scratch_.path().string(), "set"), ExitCode::data, "is a folder");
  expect_error(options("alpaca", write("empty.json", "[]"), "set"), ExitCode::data, "holds no records");
  expect_error(options("alpaca", write("cut.json", "[{\"instruction\": \"a"), "set"), ExitCode::data, "truncated");
  expect_error(options("alpaca", write("deep.json", std::string(1 << 20, '[')), "set"), ExitCode::data, "truncated");
  expect_error(options("alpaca", write("deep.jsonl", "{\"a\":" + std::string(1 << 20, '[')), "set"), ExitCode::data,
               "nested");
  expect_error(options("text", write("latin.txt", "caf\xe9"), "set"), ExitCode::data, "is not UTF-8");
  TextPrepareOptions no_tokenizer = options("text", write("a.txt", "a"), "set");
  no_tokenizer.tokenizer = scratch_ / "nowhere";
  expect_error(no_tokenizer, ExitCode::data, "nowhere");
}

TEST_F(TextPrepareTest, NeverOverwritesShards) {
  TextPrepareOptions what = options("question-answer", write("q.jsonl", questions(8)), "set");
  prepare_text(what, world());
  what.num_shards = 2;
  expect_error(what, ExitCode::data, "set-00000-of-00001.h5 exists");
}

TEST(TextPrepareWords, OfNoTypeAndNoLossAreRefused) {
  EXPECT_EQ(dataset_type("question-answer"), DatasetType::question_answer);
  EXPECT_EQ(loss_on("all"), LossOn::all);
  const auto message_of = [](const auto& body) -> std::string {
    try {
      body();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message_of([] { dataset_type("poems"); }).find("no dataset type poems"), std::string::npos);
  EXPECT_NE(message_of([] { loss_on("some"); }).find("--loss some"), std::string::npos);
}

TEST_F(TextPrepareTest, RefusesOptionsThatDoNotFit) {
  const TextPrepareOptions right = options("question-answer", write("q.jsonl", questions(3)), "set");
  const auto expect = [&](auto change, const std::string& text) {
    TextPrepareOptions wrong = right;
    change(wrong);
    expect_error(wrong, ExitCode::usage, text);
  };
  expect([](auto& o) { o.num_shards = 4; }, "3 sequences cannot fill 4 shards");
  expect([](auto& o) { o.split = 1.5; }, "--split");
  expect([](auto& o) { o.split = 0.1; }, "--split 0.1 of 3 leaves no record for testing (round(0.1 x 3) is 0) Set it");
  expect([](auto& o) { o.split = 0.9; }, "leaves no record to train on");
  expect([](auto& o) { o.tokenizer.clear(); }, "needs --tokenizer");
  expect([](auto& o) { o.prompt_template = "latin"; }, "latin");
  expect([](auto& o) { o.max_length = 1; }, "--max-length");
  expect([](auto& o) { o.type = DatasetType::text; }, "--type text has no --template");
  expect([](auto& o) { o.type = DatasetType::tokens, o.prompt_template.clear(); }, "--type tokens has no --tokenizer");
  expect([](auto& o) { o.type = DatasetType::preference, o.loss = LossOn::all; },
         "--type preference has no --loss all");
}

TEST_F(TextPrepareTest, SaysThatADiskIsFullAndLeavesNothing) {
  const std::string disk = scratch_ / "disk";
  bool is_mounted = false;
  if (world().is_root()) {
    std::filesystem::create_directories(disk);
    is_mounted = geteuid() == 0 && mount("none", disk.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  is_mounted = world().broadcast_value(is_mounted ? 1 : 0) == 1;
  if (!is_mounted) GTEST_SKIP() << "NOT TESTED: a full disk, because this process may not mount a small file system";
  TextPrepareOptions what = options("text", write("big.txt", std::string(1 << 20, 'x')), "disk/set");
  expect_error(what, ExitCode::data, "No space left");
  world().barrier();
  EXPECT_TRUE(std::filesystem::is_empty(disk));
  on_root([&] { umount2(disk.c_str(), MNT_DETACH); });
}

}  // namespace
}  // namespace multicard
