// Several sets of token shards as one source of batches.
#include <array>
#include <span>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "data/loading/TextDataSource.hpp"
#include "support/test_world.hpp"
#include "unit/data/expect_data_error.hpp"
#include "unit/data/test_tokens.hpp"

namespace multicard {
namespace {

using namespace test;

/// Sequences of lengths 2 to 9 whose ids tell the set: a thousand for each.
std::vector<Sequence> sequences_of(std::uint32_t set, std::uint32_t count) {
  std::vector<Sequence> sequences;
  for (std::uint32_t i = 0; i < count; ++i)
    sequences.push_back(counting(1000 * set + i, 2 + i % 8, 1));
  return sequences;
}

class TextMix : public testing::Test {
 protected:
  TextMix() {
    if (world().is_root()) {
      write_shard(scratch_ / "a0.h5", sequences_of(1, 20));
      write_shard(scratch_ / "a1.h5", sequences_of(2, 10));
      write_shard(scratch_ / "b.h5", sequences_of(3, 12));
      write_other("c.h5", "abc", "chatml", "chat");
      write_other("d.h5", "def", "alpaca", "alpaca");
      write_other("e.h5", "", "", "tokens");
    }
    world().barrier();
  }

  void write_other(const std::string& name, const std::string& tokenizer, const std::string& template_name,
                   const std::string& type) const {
    Hdf5File file = Hdf5File::create(scratch_ / name);
    write_arrays(file, "", sequences_of(4, 6));
    write_attributes(file);
    file.write_attribute("/", "tokenizer_sha256", tokenizer);
    file.write_attribute("/", "template", template_name);
    file.write_attribute("/", "dataset_type", type);
    file.close();
  }

  TextSourceOptions options(const std::vector<std::string>& names, std::vector<double> weights) const {
    TextSourceOptions options;
    for (const std::string& name : names)
      options.shards.push_back(scratch_ / name);
    options.weights = std::move(weights);
    options.order.global_batch = 7;
    return options;
  }

  static std::unique_ptr<TextDataSource> open(const TextSourceOptions& options) {
    return TextDataSource::open(options, world(), at::kCPU);
  }

  ScratchFolder scratch_;
};

TEST_F(TextMix, HasTheRowsOfAllSetsOneAfterTheOther) {
  const auto source = open(options({"a*.h5", "b.h5"}, {1, 3}));

  EXPECT_EQ(source->rows().rows_of_sets(), (std::vector<std::int64_t>{30, 12}));
  EXPECT_EQ(source->sampler().mix()->shares(), (std::vector<std::int64_t>{11, 31}));
  EXPECT_EQ(source->steps_per_epoch(), 6);
  EXPECT_EQ(source->shards().first_file_of(1), scratch_ / "b.h5");
  const auto identity = source->identity();
  EXPECT_EQ(identity.at("data.1.rows"), 12);
  EXPECT_EQ(identity.at("data.1.weight"), 3);
}

TEST_F(TextMix, GivesBatchesInItsProportionsOnAnyRanks) {
  const auto source = open(options({"a*.h5", "b.h5"}, {1, 3}));
  source->start_reading({world().rank(), world().size(), 0, 12, Reading::sharded});
  std::array<std::int64_t, 2> counts{};
  for (int step = 0; step < 12; ++step) {
    const Batch batch = source->next();
    std::vector<std::int64_t> expected;
    for (const std::int64_t row : source->sampler().part(step, world().rank(), world().size()))
      expected.push_back(row);
    EXPECT_EQ(batch.row_numbers, expected);
    for (std::int64_t row = 0; row < batch.num_rows; ++row)
      ++counts[batch.inputs[row][0].item<std::int64_t>() < 3000 ? 0 : 1];
  }
  source->stop_reading();
  world().allreduce(std::span<std::int64_t>(counts), ReduceOp::sum);
  EXPECT_EQ(counts, (std::array<std::int64_t, 2>{22, 62}));
}

TEST_F(TextMix, PacksEachSetByItself) {
  TextSourceOptions packed = options({"a*.h5", "b.h5"}, {1, 1});
  packed.rows.packing = true;
  packed.rows.max_length = 24;
  const auto together = open(packed);
  std::int64_t row = 0;
  for (const std::size_t set : {0, 1}) {
    packed.shards = {scratch_ / (set == 0 ? "a*.h5" : "b.h5")};
    packed.weights.clear();
    const auto alone = open(packed);
    const std::int64_t before = set == 0 ? 0 : 30;
    ASSERT_EQ(together->rows().rows_of_sets()[set], alone->rows().num_rows());
    for (std::int64_t i = 0; i < alone->rows().num_rows(); ++i, ++row) {
      const auto mine = together->rows().parts(row), theirs = alone->rows().parts(i);
      ASSERT_EQ(mine.size(), theirs.size());
      for (std::size_t part = 0; part < mine.size(); ++part)
        EXPECT_EQ(mine[part].sequence, before + theirs[part].sequence);
    }
  }
  EXPECT_EQ(row, together->rows().num_rows());
}

TEST_F(TextMix, LimitsEachSet) {
  TextSourceOptions limited = options({"a*.h5", "b.h5"}, {1, 1});
  limited.rows.limit = 15;

  EXPECT_EQ(open(limited)->rows().rows_of_sets(), (std::vector<std::int64_t>{15, 12}));
}

TEST_F(TextMix, IsOneSetWhereThereIsOne) {
  const auto source = open(options({"a*.h5"}, {0.5}));

  EXPECT_FALSE(source->sampler().mix());
  EXPECT_EQ(source->sampler().rows(3), open(options({"a*.h5"}, {}))->sampler().rows(3));
}

TEST_F(TextMix, TakesOtherTemplatesButNoOtherTokenizer) {
  const auto source = open(options({"e.h5", "c.h5", "b.h5"}, {1, 1, 1}));

  EXPECT_EQ(source->shards().info().template_name, "chatml") << "of the first set that has one";
  EXPECT_EQ(source->shards().info().tokenizer_sha256, "abc");
  EXPECT_EQ(source->shards().info().dataset_type, "tokens + chat + alpaca");
  EXPECT_EQ(source->shards().templates_of_sets(), (std::vector<std::string>{"", "chatml", "alpaca"}));
  expect_data_error([&] { open(options({"b.h5", "d.h5"}, {1, 1})); }, "their tokenizers (SHA-256) are abc and def");
  const std::string compared = scratch_ / "b.h5" + " and " + (scratch_ / "d.h5");  // the first names no tokenizer
  expect_data_error([&] { open(options({"e.h5", "b.h5", "d.h5"}, {1, 1, 1})); }, compared + " do not match");
  expect_data_error([&] { open(options({"[bc].h5"}, {1})); }, "their templates are");
}

TEST_F(TextMix, RefusesAFileThatIsInTwoSets) {
  expect_data_error([&] { open(options({"a*.h5", "a1.h5"}, {1, 1})); }, "is in two of the sets that are mixed");
}

TEST_F(TextMix, NamesTheSetThatHasNoRow) {
  TextSourceOptions short_rows = options({"a*.h5", "f.h5"}, {1, 1});
  if (world().is_root()) write_shard(scratch_ / "f.h5", {counting(1, 20, 2), counting(1, 30, 3)});
  world().barrier();
  short_rows.rows.max_length = 10;
  short_rows.rows.overlong = Overlong::drop;
  expect_data_error([&] { open(short_rows); }, "f.h5 can be trained on");
  EXPECT_THROW(open(options({"a*.h5", "b.h5"}, {1, 1e-9})), Error);
}

TEST_F(TextMix, TravelsToOtherRanks) {
  TextSourceOptions packed = options({"a*.h5", "b.h5"}, {1, 3});
  packed.rows.packing = true;
  packed.rows.max_length = 24;
  const auto source = open(packed);
  const int last = world().size() - 1;
  const bool has_it = world().rank() == last;
  TextSetScan scan;
  scan.tokens = broadcast(has_it ? source->scan().tokens : nullptr, world(), last);
  scan.rows = TextRows::broadcast(has_it ? source->scan().rows : nullptr, world(), last);

  const auto again = TextDataSource::open(packed, world(), at::kCPU, scan);

  EXPECT_EQ(again->rows().rows_of_sets(), source->rows().rows_of_sets());
  EXPECT_EQ(again->shards().sequences_of_sets(), source->shards().sequences_of_sets());
  EXPECT_EQ(again->shards().templates_of_sets(), source->shards().templates_of_sets());
  for (std::int64_t step = 0; step < 9; ++step)
    EXPECT_EQ(again->sampler().rows(step), source->sampler().rows(step));
}

}  // namespace
}  // namespace multicard
