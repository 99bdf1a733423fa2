// Rows of sequences: cuts, drops, and packing against its definition.
#include "data/loading/TextRows.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/SplitMix64.hpp"
#include "data/loading/FirstFit.hpp"
#include "support/test_world.hpp"
#include "unit/data/test_tokens.hpp"

namespace multicard {
namespace {

using namespace test;

/// Shards of these sequences; the file goes when the object does.
class Shards {
 public:
  explicit Shards(const std::vector<Sequence>& sequences) {
    if (world().is_root()) write_shard(scratch_ / "a.h5", sequences);
    world().barrier();
    shards_.emplace(scratch_ / "a.h5", world());
  }
  const TokenShards& operator*() const { return *shards_; }

 private:
  ScratchFolder scratch_;
  std::optional<TokenShards> shards_;
};

std::vector<std::int64_t> sequences_of(const TextRows& rows, std::int64_t row) {
  std::vector<std::int64_t> numbers;
  for (const SequencePart& part : rows.parts(row))
    numbers.push_back(part.sequence);
  return numbers;
}

TEST(FirstFit, PutsEachItemIntoTheFirstPackWithRoom) {
  EXPECT_EQ(first_fit(std::vector<std::int64_t>{4, 8, 1, 4, 2, 1}, 10), (std::vector<std::size_t>{0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(first_fit(std::vector<std::int64_t>{10, 10, 1}, 10), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(first_fit(std::vector<std::int64_t>{7}, 7), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(first_fit({}, 5).empty());
}

TEST(FirstFit, IsTheDefinitionOnRandomLengths) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::int64_t capacity = 1 + static_cast<std::int64_t>(below(splitmix64(seed, 0), 300));
    std::vector<std::int64_t> lengths;
    for (std::uint64_t i = 0; i < 10 * seed; ++i)
      lengths.push_back(
          1 + static_cast<std::int64_t>(below(splitmix64(seed, i + 1), static_cast<std::uint64_t>(capacity))));
    std::vector<std::int64_t> rooms;
    std::vector<std::size_t> wanted;
    for (const std::int64_t length : lengths) {
      const auto found = std::find_if(rooms.begin(), rooms.end(), [&](std::int64_t room) { return room >= length; });
      wanted.push_back(static_cast<std::size_t>(found - rooms.begin()));
      if (found == rooms.end()) rooms.push_back(capacity);
      rooms[wanted.back()] -= length;
    }
    EXPECT_EQ(first_fit(lengths, capacity), wanted) << seed;
  }
}

TEST(TextRows, TravelToOtherRanks) {
  std::vector<Sequence> sequences;
  for (std::uint32_t i = 0; i < 30; ++i)
    sequences.push_back(counting(100 * i, 2 + (i * 7) % 13, i % 4));
  const Shards shards(sequences);
  RowOptions options;
  options.packing = true;
  options.max_length = 12;
  const auto rows = std::make_shared<const TextRows>(*shards, options, world());
  const int last = world().size() - 1;

  const auto copy = TextRows::broadcast(world().rank() == last ? rows : nullptr, world(), last);

  ASSERT_EQ(copy->num_rows(), rows->num_rows());
  for (std::int64_t row = 0; row < rows->num_rows(); ++row) {
    EXPECT_EQ(copy->shape(row), rows->shape(row));
    EXPECT_EQ(sequences_of(*copy, row), sequences_of(*rows, row));
  }
  EXPECT_EQ(copy->longest_row(), rows->longest_row());
  EXPECT_EQ(copy->longest_sequence(), rows->longest_sequence());
  EXPECT_EQ(copy->num_tokens(), rows->num_tokens());
  EXPECT_EQ(copy->num_targets(), rows->num_targets());
  EXPECT_EQ(copy->num_cut(), rows->num_cut());
  EXPECT_EQ(copy->num_without_target(), rows->num_without_target());
}

TEST(TextRows, AreSequencesWithoutPacking) {
  const Shards shards({counting(0, 5, 2), counting(10, 3, 1), counting(20, 9, 9)});
  const TextRows rows(*shards, {}, world());
  ASSERT_EQ(rows.num_rows(), 3);
  EXPECT_EQ(rows.shape(0), (RowShape{{5}, 2}));
  EXPECT_EQ(rows.shape(1), (RowShape{{3}, 1}));
  EXPECT_EQ(rows.shape(2), (RowShape{{9}, 8}));  // never the first token
  EXPECT_EQ(rows.longest_row(), 9);
  EXPECT_EQ(rows.longest_sequence(), 9);
  EXPECT_EQ(rows.num_tokens(), 17);
  EXPECT_EQ(rows.num_targets(), 11);
}

TEST(TextRows, CountTargetsThatACutLeaves) {
  const Shards shards({counting(0, 8, 5), counting(10, 8, 2), counting(20, 3, 1), counting(30, 7, 6)});
  RowOptions options;
  options.max_length = 6;
  const TextRows rows(*shards, options, world());
  ASSERT_EQ(rows.num_rows(), 3);
  EXPECT_EQ(rows.shape(0), (RowShape{{6}, 3}));
  EXPECT_EQ(sequences_of(rows, 1), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(rows.shape(2), (RowShape{{6}, 5}));
  EXPECT_EQ(rows.num_cut(), 3);
  EXPECT_EQ(rows.num_without_target(), 1);
  EXPECT_EQ(rows.num_overlong(), 0);
}

TEST(TextRows, DropOrRefuseLongSequences) {
  const Shards shards({counting(0, 8, 5), counting(10, 4, 2), counting(20, 3, 0)});
  RowOptions options;
  options.max_length = 6;
  options.overlong = Overlong::drop;
  const TextRows rows(*shards, options, world());
  ASSERT_EQ(rows.num_rows(), 1);
  EXPECT_EQ(sequences_of(rows, 0), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(rows.num_overlong(), 1);
  EXPECT_EQ(rows.num_without_target(), 1);
  EXPECT_EQ(rows.num_cut(), 0);

  options.overlong = Overlong::error;
  try {
    const TextRows refused(*shards, options, world());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_NE(std::string(error.what()).find("has 8 tokens"), std::string::npos) << error.what();
  }
  options.max_length = 8;
  EXPECT_NO_THROW(TextRows(*shards, options, world()));
}

/// Both halves of pairs.
class Pairs {
 public:
  Pairs(const std::vector<Sequence>& chosen, const std::vector<Sequence>& rejected)
      : chosen_(chosen), rejected_(rejected) {}
  RowShards operator*() const { return {*chosen_, *rejected_}; }

 private:
  Shards chosen_, rejected_;
};

TEST(TextRows, ArePairsOfAChosenAndARejectedSequence) {
  const Pairs pairs({counting(0, 5, 2), counting(10, 3, 1)}, {counting(0, 4, 1), counting(10, 9, 7)});

  const TextRows rows(*pairs, {}, world());

  ASSERT_EQ(rows.num_rows(), 2);
  EXPECT_EQ(rows.shape(0), (RowShape{{5, 4}, 3}));
  EXPECT_EQ(rows.shape(1), (RowShape{{3, 9}, 8}));
  EXPECT_EQ(sequences_of(rows, 1), (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(rows.parts(1)[0].half, TokenPart::chosen);
  EXPECT_EQ(rows.parts(1)[1].half, TokenPart::rejected);
  EXPECT_EQ(rows.longest_row(), 12);
  EXPECT_EQ(rows.num_tokens(), 21);
}

TEST(TextRows, CutEachHalfOfAPairByItself) {
  const Pairs pairs({counting(0, 8, 5), counting(10, 8, 8), counting(20, 5, 2)},
                    {counting(0, 5, 1), counting(10, 9, 2), counting(20, 6, 1)});
  RowOptions options;
  options.max_length = 6;

  const TextRows rows(*pairs, options, world());

  ASSERT_EQ(rows.num_rows(), 2);
  EXPECT_EQ(rows.shape(0), (RowShape{{6, 5}, 4}));
  EXPECT_EQ(sequences_of(rows, 1), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(rows.num_cut(), 3);
  EXPECT_EQ(rows.num_without_target(), 1) << "the pair whose rejected half has lost its targets";
}

TEST(TextRows, LeaveOutAPairWithAnOverlongHalf) {
  const Pairs pairs({counting(0, 8, 5), counting(10, 4, 2), counting(20, 5, 2)},
                    {counting(0, 5, 1), counting(10, 4, 2), counting(20, 7, 1)});
  RowOptions options;
  options.max_length = 6;
  options.overlong = Overlong::drop;
  const TextRows rows(*pairs, options, world());
  ASSERT_EQ(rows.num_rows(), 1);
  EXPECT_EQ(sequences_of(rows, 0), (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(rows.num_overlong(), 2);

  options.packing = true;
  EXPECT_THROW(TextRows(*pairs, options, world()), Error);
}

TEST(TextRows, PackEverySequenceOnceAndNoRowTooFull) {
  std::vector<Sequence> sequences;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::size_t length = 2 + below(splitmix64(7, i), 60);
    sequences.push_back(counting(i, length, below(splitmix64(8, i), length)));
  }
  const Shards shards(sequences);
  RowOptions options;
  options.packing = true;
  options.max_length = 48;
  const TextRows rows(*shards, options, world());

  std::set<std::int64_t> seen;
  std::int64_t tokens = 0, targets = 0, last_first = -1, longest = 0, longest_sequence = 0;
  for (std::int64_t row = 0; row < rows.num_rows(); ++row) {
    const RowShape shape = rows.shape(row);
    EXPECT_LE(shape.num_tokens(), 48);
    EXPECT_EQ(shape.num_tokens(), rows.length(row));
    longest = std::max(longest, shape.num_tokens());
    const std::vector<std::int64_t> numbers = sequences_of(rows, row);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    EXPECT_GT(numbers.front(), last_first);  // packs are begun in shard order
    last_first = numbers.front();
    std::int64_t of_row = 0;
    for (const SequencePart& part : rows.parts(row)) {
      EXPECT_TRUE(seen.insert(part.sequence).second);
      const Sequence& whole = sequences[static_cast<std::size_t>(part.sequence)];
      EXPECT_EQ(part.length, std::min<std::int64_t>(48, static_cast<std::int64_t>(whole.tokens.size())));
      EXPECT_EQ(part.num_targets, std::count(whole.loss_mask.begin() + 1, whole.loss_mask.begin() + part.length, 1));
      EXPECT_GT(part.num_targets, 0);
      of_row += part.num_targets;
      tokens += part.length;
      longest_sequence = std::max(longest_sequence, part.length);
    }
    EXPECT_EQ(shape.num_targets, of_row);
    targets += of_row;
  }
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), rows.num_sequences());
  EXPECT_EQ(rows.num_sequences() + rows.num_without_target(), 200);
  EXPECT_GT(rows.num_without_target(), 0);
  EXPECT_GT(rows.num_cut(), 0);
  EXPECT_EQ(rows.num_tokens(), tokens);
  EXPECT_EQ(rows.num_targets(), targets);
  EXPECT_EQ(rows.longest_row(), longest);
  EXPECT_EQ(rows.longest_sequence(), longest_sequence);
}

TEST(TextRows, AreTheSameOnAnyRanks) {
  std::vector<Sequence> sequences;
  for (std::uint32_t i = 0; i < 50; ++i)
    sequences.push_back(counting(i, 2 + i % 17, 1 + i % 3));
  const Shards shards(sequences);
  for (const bool packing : {false, true}) {
    RowOptions options{packing, 11, Overlong::cut, 40};
    const TextRows together(*shards, options, world()), alone(*shards, options, Communicator::null());
    ASSERT_EQ(together.num_rows(), alone.num_rows());
    for (std::int64_t row = 0; row < alone.num_rows(); ++row) {
      EXPECT_EQ(together.shape(row), alone.shape(row));
      EXPECT_EQ(sequences_of(together, row), sequences_of(alone, row));
      EXPECT_LT(sequences_of(together, row).back(), 40);
    }
  }
}

TEST(TextRows, RefuseOptionsWithoutSense) {
  const Shards shards({counting(0, 8, 2), counting(10, 3, 1)});
  const auto expect = [&](const RowOptions& options, ExitCode code, const std::string& text) {
    try {
      const TextRows refused(*shards, options, world());
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  expect({true, {}, Overlong::cut, {}}, ExitCode::usage, "data.packing needs data.max_length");
  expect({false, 1, Overlong::cut, {}}, ExitCode::usage, "data.max_length is 1");
  expect({false, {}, Overlong::cut, 0}, ExitCode::usage, "data.limit");
  expect({false, 2, Overlong::cut, 1}, ExitCode::data, "no sequence can be trained on");
}

}  // namespace
}  // namespace multicard
