// Shards of other writers, read on any number of ranks by both methods.
#include "data/shards/TokenShards.hpp"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"
#include "unit/data/expect_data_error.hpp"
#include "unit/data/test_tokens.hpp"

namespace multicard {
namespace {

using test::expect_data_error;
using namespace test;

void on_root(const std::function<void()>& body) {
  if (world().is_root()) body();
  world().barrier();
}

std::vector<Sequence> some_sequences() {
  std::vector<Sequence> all;
  for (std::uint32_t i = 0; i < 17; ++i)
    all.push_back(counting(100 * i, 1 + (i * 7) % 13, i % 5));
  return all;
}

/// Three shards of unequal size.
void write_three(const ScratchFolder& scratch) {
  on_root([&] {
    const std::vector<Sequence> all = some_sequences();
    write_shard(scratch / "set-00000-of-00003.h5", {all.begin(), all.begin() + 9});
    write_shard(scratch / "set-00001-of-00003.h5", {all.begin() + 9, all.begin() + 10});
    write_shard(scratch / "set-00002-of-00003.h5", {all.begin() + 10, all.end()});
  });
}

TEST(TokenShards, AreOpenedAgainWithoutAScanOnOtherRanks) {
  const ScratchFolder scratch;
  write_three(scratch);
  const std::vector<Sequence> wanted = some_sequences();
  const int last = world().size() - 1;
  std::shared_ptr<const TokenSetScan> scan;
  if (world().rank() == last) scan = TokenShards(scratch / "set*.h5", Communicator::null()).scan();
  scan = broadcast(scan, world(), last);
  on_root([&] {  // what a scan looks at no longer holds; the first sequences stay
    for (const std::string& path : scan->files) {
      Hdf5File file = Hdf5File::open_update(path);
      file.write_attribute("/", "format", std::string("nothing"));
      file.write_slab<std::uint64_t>("/offsets", {0}, {1}, std::vector<std::uint64_t>{77});
    }
    Hdf5File file = Hdf5File::open_update(scan->files.back());
    file.write_slab<std::uint8_t>("/loss_mask", {file.dims("/loss_mask")[0] - 1}, {1}, std::vector<std::uint8_t>{2});
  });
  for (const ShardReading reading : {ShardReading{ReadMethod::hdf5}, {ReadMethod::pread, KeepRows::in_memory}}) {
    const TokenShards shards(scan, world(), reading);

    ASSERT_EQ(shards.info().num_sequences, 17);
    EXPECT_EQ(shards.info().largest_id, TokenShards(scan, world(), {}).info().largest_id);
    EXPECT_EQ(shards.name_of(9), "sequence 0 of " + scan->files[1]);
    for (std::int64_t s = 0; s < 16; ++s) {
      const Sequence& want = wanted[static_cast<std::size_t>(s)];
      const std::size_t length = want.tokens.size();
      ASSERT_EQ(shards.length(s), static_cast<std::int64_t>(length));
      Sequence got{std::vector<std::uint32_t>(length), std::vector<std::uint8_t>(length)};
      shards.read(s, got.tokens, got.loss_mask);
      EXPECT_EQ(got, want) << s;
      EXPECT_EQ(shards.num_targets(s), std::count(want.loss_mask.begin() + 1, want.loss_mask.end(), 1)) << s;
    }
  }
  expect_data_error([&] { TokenShards(scratch / "set*.h5", world()); }, "is not a token shard");
}

TEST(TokenShards, ThatHaveChangedAreNotOpenedWithAnOldScan) {
  const ScratchFolder scratch;
  write_three(scratch);
  const std::shared_ptr<const TokenSetScan> scan = TokenShards(scratch / "set*.h5", world()).scan();
  on_root([&] {
    std::filesystem::remove(scan->files[1]);
    write_shard(scan->files[1], {counting(0, 50, 1)});
  });

  expect_data_error([&] { TokenShards(scan, world(), {}); }, "has changed since the run began");
}

TEST(TokenShards, ReadsSequencesAsTheyWereWritten) {
  const ScratchFolder scratch;
  write_three(scratch);
  const std::vector<Sequence> wanted = some_sequences();
  for (const ShardReading reading : {ShardReading{ReadMethod::hdf5},
                                     {ReadMethod::pread},
                                     {ReadMethod::hdf5, KeepRows::in_memory},
                                     {ReadMethod::pread, KeepRows::in_memory}}) {
    const TokenShards shards(scratch / "set*.h5", world(), reading);
    ASSERT_EQ(shards.info().num_sequences, 17);
    std::int64_t num_tokens = 0, num_targets = 0, longest = 0;
    for (std::int64_t s = 0; s < 17; ++s) {
      const Sequence& want = wanted[static_cast<std::size_t>(s)];
      const std::size_t length = want.tokens.size();
      ASSERT_EQ(shards.length(s), static_cast<std::int64_t>(length));
      Sequence got{std::vector<std::uint32_t>(length), std::vector<std::uint8_t>(length)};
      shards.read(s, got.tokens, got.loss_mask);
      EXPECT_EQ(got, want) << s;
      // The first token is no target, even where the mask of a short sequence says so.
      const std::int64_t targets = std::count(want.loss_mask.begin() + 1, want.loss_mask.end(), 1);
      EXPECT_EQ(shards.num_targets(s), targets) << s;
      num_tokens += shards.length(s);
      num_targets += targets;
      longest = std::max(longest, shards.length(s));
      if (length > 2) {
        Sequence part{std::vector<std::uint32_t>(2), std::vector<std::uint8_t>(2)};
        shards.read(s, part.tokens, part.loss_mask);
        EXPECT_EQ(part.tokens, (std::vector<std::uint32_t>{want.tokens[0], want.tokens[1]}));
        EXPECT_EQ(shards.count_targets(s, 2), want.loss_mask[1]);
      }
    }
    EXPECT_EQ(shards.info().num_tokens, num_tokens);
    EXPECT_EQ(shards.info().num_trained, num_targets);
    EXPECT_EQ(shards.info().num_bytes, 5 * num_tokens);
    EXPECT_EQ(shards.info().longest, longest);
    EXPECT_EQ(shards.info().num_shards, 3);
    EXPECT_EQ(shards.info().tokenizer_sha256, "abc");
    EXPECT_EQ(shards.info().template_name, "alpaca");
    EXPECT_EQ(shards.info().largest_id, 1600 + (16 * 7) % 13);
    EXPECT_EQ(shards.name_of(10), "sequence 0 of " + (scratch / "set-00002-of-00003.h5"));
  }
}

TEST(TokenShards, BelievesTheLargestIdButChecksIt) {
  const ScratchFolder scratch;
  on_root([&] {
    Hdf5File file = Hdf5File::create(scratch / "a.h5");
    write_arrays(file, "", {counting(5, 4, 1), counting(90, 4, 1)});
    write_attributes(file);
    file.write_attribute("/", "largest_id", std::int64_t{50});
    file.close();
  });
  const TokenShards shards(scratch / "a.h5", world());
  EXPECT_EQ(shards.info().largest_id, 50);
  std::vector<std::uint32_t> tokens(4);
  std::vector<std::uint8_t> mask(4);
  EXPECT_NO_THROW(shards.read(0, tokens, mask));
  expect_data_error([&] { shards.read(1, tokens, mask); }, "holds the token 90");
}

TEST(TokenShards, ReadsHalvesOfPairs) {
  const ScratchFolder scratch;
  on_root([&] {
    Hdf5File file = Hdf5File::create(scratch / "pairs.h5");
    write_arrays(file, "/chosen", {counting(1, 4, 2), counting(5, 3, 1)});
    write_arrays(file, "/rejected", {counting(1, 6, 4), counting(5, 2, 1)});
    write_attributes(file);
    file.close();
    write_shard(scratch / "single.h5", {counting(1, 4, 2)});
  });
  const TokenShards chosen(scratch / "pairs.h5", world(), {}, TokenPart::chosen);
  const TokenShards rejected(scratch / "pairs.h5", world(), {ReadMethod::pread}, TokenPart::rejected);
  EXPECT_EQ(chosen.num_targets(0), 2);
  EXPECT_EQ(rejected.num_targets(0), 4);
  EXPECT_EQ(chosen.info().num_sequences, 2);
  EXPECT_EQ(rejected.length(1), 2);
  const TokenShards answers(scratch / "pairs.h5", world());
  EXPECT_EQ(answers.num_targets(0), 2) << "plain sequences of pairs are the chosen ones";
  EXPECT_EQ(answers.length(1), 3);
  expect_data_error([&] { TokenShards(scratch / "single.h5", world(), {}, TokenPart::chosen); },
                    "holds no preference pairs");
}

TEST(TokenShards, RefusesWhatIsNoTokenShard) {
  const ScratchFolder scratch;
  expect_data_error([&] { TokenShards(scratch / "nothing*.h5", world()); }, "nothing*.h5");
  on_root([&] {
    Hdf5File file = Hdf5File::create(scratch / "other.h5");
    file.write_attribute("/", "format", std::string("multicard-images"));
    file.close();
  });
  expect_data_error([&] { TokenShards(scratch / "other.h5", world()); }, "is not a token shard");
  on_root([&] { write_file(scratch / "a.json", "[{\"text\": \"a\"}]"); });
  expect_data_error(
      [&] { TokenShards(scratch / "a.json", world()); },
      "a.json is not a token shard (it is not an HDF5 file) Make shards of it with multicard prepare text.");
}

/// A shard with these offsets over four tokens.
void expect_damaged(const std::vector<std::uint64_t>& offsets, const std::string& text) {
  const ScratchFolder scratch;
  on_root([&] {
    Hdf5File file = Hdf5File::create(scratch / "a.h5");
    file.write_values<std::uint32_t>("/tokens", {1, 2, 3, 4});
    file.write_values<std::uint8_t>("/loss_mask", {0, 1, 0, 1});
    file.write_values("/offsets", offsets);
    write_attributes(file);
    file.close();
  });
  expect_data_error([&] { TokenShards(scratch / "a.h5", world()); }, text);
}

TEST(TokenShards, NoticesDamagedOffsets) {
  expect_damaged({1, 4}, "begins with 1");
  expect_damaged({0, 2, 2, 4}, "sequence 1 has no tokens");
  expect_damaged({0, 3, 2, 4}, "sequence 1 has no tokens");
  expect_damaged({0, 3}, "ends at 3, but there are 4");
  expect_damaged({0, 9}, "ends at 9");
  expect_damaged({0}, "ends at 0");
}

TEST(TokenShards, NoticesDamagedMasksAndSetsThatDoNotFit) {
  const ScratchFolder scratch;
  on_root([&] {
    Sequence bad = counting(1, 30, 5);
    bad.loss_mask[20] = 2;
    write_shard(scratch / "mask.h5", {counting(1, 9, 5), bad});
    write_shard(scratch / "set0.h5", {counting(1, 9, 5)});
    Hdf5File file = Hdf5File::create(scratch / "set1.h5");
    write_arrays(file, "", {counting(1, 9, 5)});
    write_attributes(file);
    file.write_attribute("/", "tokenizer_sha256", std::string("other"));
    file.close();
  });
  expect_data_error([&] { TokenShards(scratch / "mask.h5", world()); }, "the value 2 in its loss mask");
  expect_data_error([&] { TokenShards(scratch / "set*.h5", world()); }, "do not match");
}

TEST(TokenShards, HaveOneDateOfTheTemplate) {
  const ScratchFolder scratch;
  const auto write_dated = [&](const std::string& name, const std::string& date) {
    Hdf5File file = Hdf5File::create(scratch / name);
    write_arrays(file, "", {counting(1, 9, 5)});
    write_attributes(file);
    file.write_attribute("/", "template_date", date);
    file.close();
  };
  on_root([&] {
    write_shard(scratch / "old.h5", {counting(1, 9, 5)});
    write_dated("other1.h5", "2026-02-03");
    write_dated("old-default.h5", "2024-07-26");
    write_dated("other2.h5", "2026-02-03");
  });

  EXPECT_EQ(TokenShards(scratch / "old*.h5", world()).info().template_date, "2024-07-26");
  EXPECT_EQ(TokenShards(scratch / "other*.h5", world()).info().template_date, "2026-02-03");
  expect_data_error([&] { TokenShards(scratch / "o*.h5", world()); },
                    "their dates (--date) are 2024-07-26 and 2026-02-03");
}

TEST(TokenShards, ReportsTheMemoryOfKeptSequences) {
  const ScratchFolder scratch;
  write_three(scratch);
  const TokenShards shards(scratch / "set*.h5", world(), {ReadMethod::hdf5, KeepRows::in_memory});
  const auto part = [](std::int64_t bytes) { return (bytes + world().size() - 1) / world().size(); };

  EXPECT_EQ(shards.kept_bytes(), part(5 * shards.info().num_tokens + 17));
  EXPECT_EQ(shards.kept_bytes(99), shards.kept_bytes());
  EXPECT_EQ(shards.kept_bytes(2), part(5 * (shards.length(0) + shards.length(1)) + 2));
  EXPECT_EQ(TokenShards(scratch / "set*.h5", world()).kept_bytes(), 0);
}

TEST(TokenShards, NoticesAShardThatIsCutShort) {
  const ScratchFolder scratch;
  write_three(scratch);
  for (const ReadMethod method : {ReadMethod::hdf5, ReadMethod::pread}) {
    const ScratchFolder other;
    on_root([&] { std::filesystem::copy(scratch / "set-00000-of-00003.h5", other / "a.h5"); });
    const TokenShards shards(other / "a.h5", Communicator::null(), {method});
    world().barrier();
    on_root([&] { std::filesystem::resize_file(other / "a.h5", 600); });
    std::vector<std::uint32_t> tokens(static_cast<std::size_t>(shards.length(3)));
    std::vector<std::uint8_t> mask(tokens.size());
    expect_data_error([&] { shards.read(3, tokens, mask); }, "was truncated");
    world().barrier();
  }
}

}  // namespace
}  // namespace multicard
