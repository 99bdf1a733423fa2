// Batches of text against the sequences they are made of, on any number of ranks and from any step.
#include "data/loading/TextLoader.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"
#include "unit/data/test_tokens.hpp"

namespace multicard {
namespace {

using namespace test;

class TextLoaderTest : public testing::Test {
 protected:
  TextLoaderTest() {
    for (std::uint32_t i = 0; i < 45; ++i)
      sequences_.push_back(counting(100 * i + 1, 3 + (i * 11) % 19, 1 + i % 6));
    if (world().is_root()) {
      write_shard(scratch_ / "a0.h5", {sequences_.begin(), sequences_.begin() + 20});
      write_shard(scratch_ / "a1.h5", {sequences_.begin() + 20, sequences_.end()});
    }
    world().barrier();
    shards_.emplace(scratch_ / "a*.h5", world());
    padded_.emplace(*shards_, RowOptions{false, 18, Overlong::cut, {}}, world());
    packed_.emplace(*shards_, RowOptions{true, 30, Overlong::cut, {}}, world());
  }

  static Sampler sampler_of(const TextRows& rows) { return Sampler({rows.num_rows(), 6, 4, true, false}); }

  std::vector<TextBatch> load(const TextRows& rows, int prefetch, int rank, int num_ranks, std::int64_t first,
                              std::int64_t last) const {
    TextLoader loader(*shards_, rows, sampler_of(rows), {prefetch, HostMemory::pageable}, rank, num_ranks, first, last);
    std::vector<TextBatch> batches;
    while (std::optional<TextBatch> batch = loader.next())
      batches.push_back(std::move(*batch));
    return batches;
  }

  /// Row `row` as it must look, `width` wide.
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> wanted(const TextRows& rows, std::int64_t row,
                                                                         std::int64_t width) const {
    std::vector<std::int64_t> tokens, targets;
    for (const SequencePart& part : rows.parts(row)) {
      const Sequence& sequence = sequences_[static_cast<std::size_t>(part.sequence)];
      for (std::int64_t t = 0; t < part.length; ++t) {
        const auto at = static_cast<std::size_t>(t);
        tokens.push_back(sequence.tokens[at]);
        const bool is_target = t + 1 < part.length && sequence.loss_mask[at + 1] == 1;
        targets.push_back(is_target ? static_cast<std::int64_t>(sequence.tokens[at + 1]) : -100);
      }
    }
    tokens.resize(static_cast<std::size_t>(width), 0);
    targets.resize(static_cast<std::size_t>(width), -100);
    return {tokens, targets};
  }

  std::vector<Sequence> sequences_;
  ScratchFolder scratch_;
  std::optional<TokenShards> shards_;
  std::optional<TextRows> padded_, packed_;
};

std::vector<std::int64_t> row_of(const at::Tensor& tensor, std::int64_t row) {
  const std::int64_t* values = tensor.const_data_ptr<std::int64_t>() + row * tensor.size(1);
  return {values, values + tensor.size(1)};
}

TEST_F(TextLoaderTest, CountsWhatBatchesTake) {
  LoadingTimes times;
  std::int64_t num_tokens = 0;
  {
    TextLoader loader(*shards_, *padded_, sampler_of(*padded_), {2, HostMemory::pageable, &times}, 0, 1, 0, 3);
    while (const std::optional<TextBatch> batch = loader.next())
      for (const RowShape& shape : batch->shapes)
        num_tokens += shape.num_tokens();
  }
  EXPECT_EQ(times.total(LoadingStage::read).bytes, 5 * num_tokens);  // four bytes of its number, and one of the mask
  EXPECT_EQ(times.total(LoadingStage::read).count, times.total(LoadingStage::transform).count);
  EXPECT_GT(times.total(LoadingStage::read).seconds, 0);
}

TEST_F(TextLoaderTest, DeliversTheSamplersRowsInStepOrder) {
  for (const TextRows* rows : {&*padded_, &*packed_}) {
    const Sampler sampler = sampler_of(*rows);
    const std::int64_t steps = 2 * sampler.steps_per_epoch() + 1;
    const std::vector<TextBatch> batches = load(*rows, 2, world().rank(), world().size(), 0, steps);
    ASSERT_EQ(static_cast<std::int64_t>(batches.size()), steps);
    for (std::int64_t step = 0; step < steps; ++step) {
      const TextBatch& batch = batches[static_cast<std::size_t>(step)];
      const std::vector<std::int64_t> mine = sampler.part(step, world().rank(), world().size());
      const std::vector<std::int64_t> all = sampler.rows(step);
      std::int64_t width = 0;
      for (const std::int64_t row : all)
        width = std::max(width, rows->length(row));
      EXPECT_EQ(batch.step, step);
      EXPECT_EQ(batch.epoch, sampler.epoch_of(step));
      EXPECT_EQ(batch.global_rows, static_cast<std::int64_t>(all.size()));
      ASSERT_EQ(batch.num_rows, static_cast<std::int64_t>(mine.size()));
      ASSERT_EQ(batch.tokens.sizes(), (at::IntArrayRef{batch.num_rows, width}));
      ASSERT_EQ(batch.targets.sizes(), batch.tokens.sizes());
      ASSERT_EQ(batch.shapes.size(), mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i) {
        const auto [tokens, targets] = wanted(*rows, mine[i], width);
        EXPECT_EQ(row_of(batch.tokens, static_cast<std::int64_t>(i)), tokens);
        EXPECT_EQ(row_of(batch.targets, static_cast<std::int64_t>(i)), targets);
        EXPECT_EQ(batch.shapes[i], rows->shape(mine[i]));
      }
    }
  }
}

TEST_F(TextLoaderTest, SaysBeforeReadingWhatAStepHolds) {
  for (const TextRows* rows : {&*padded_, &*packed_}) {
    const Sampler sampler = sampler_of(*rows);
    for (const TextBatch& batch : load(*rows, 1, 0, 1, 0, 9)) {
      const std::vector<RowShape> shapes = shapes_of_step(*rows, sampler, batch.step);
      EXPECT_EQ(shapes, batch.shapes);
      EXPECT_EQ(width_of(shapes), batch.tokens.size(1));
      EXPECT_EQ(num_targets(shapes), batch.global_targets);
      EXPECT_EQ(batch.targets.ne(-100).sum().item<std::int64_t>(), batch.global_targets);
    }
  }
}

TEST_F(TextLoaderTest, GoesOnAtAnyStepOnAnyRanks) {
  const std::vector<TextBatch> whole = load(*packed_, 2, 0, 1, 0, 8);
  for (std::int64_t step = 0; step < 8; ++step)
    for (const int num_ranks : {1, 2, 3, 7}) {
      const TextBatch& want = whole[static_cast<std::size_t>(step)];
      std::int64_t row = 0;
      for (int rank = 0; rank < num_ranks; ++rank) {
        const TextBatch part = load(*packed_, 1, rank, num_ranks, step, step + 1).at(0);
        EXPECT_EQ(part.global_targets, want.global_targets);
        EXPECT_TRUE(at::equal(part.tokens, want.tokens.narrow(0, row, part.num_rows)));
        EXPECT_TRUE(at::equal(part.targets, want.targets.narrow(0, row, part.num_rows)));
        row += part.num_rows;
      }
      EXPECT_EQ(row, want.num_rows);
    }
}

constexpr ShardReading kAllReadings[] = {{ReadMethod::hdf5, KeepRows::no},
                                         {ReadMethod::pread, KeepRows::no},
                                         {ReadMethod::hdf5, KeepRows::in_memory},
                                         {ReadMethod::pread, KeepRows::in_memory}};

TEST_F(TextLoaderTest, GivesTheSameWhateverPrefetchAndReading) {
  const std::vector<TextBatch> want = load(*padded_, 0, world().rank(), world().size(), 0, 12);
  for (const ShardReading& reading : kAllReadings)
    for (const int prefetch : {0, 1, 5}) {
      const TokenShards shards(scratch_ / "a*.h5", Communicator::null(), reading);
      TextLoader loader(shards, *padded_, sampler_of(*padded_), {prefetch, HostMemory::pageable}, world().rank(),
                        world().size(), 0, 12);
      for (const TextBatch& batch : want) {
        const std::optional<TextBatch> got = loader.next();
        ASSERT_TRUE(got);
        EXPECT_TRUE(at::equal(got->tokens, batch.tokens));
        EXPECT_TRUE(at::equal(got->targets, batch.targets));
      }
      EXPECT_FALSE(loader.next());
    }
}

TEST_F(TextLoaderTest, ReadsKeptSequencesFromNoFile) {
  const std::int64_t epoch = sampler_of(*packed_).steps_per_epoch();
  const std::vector<TextBatch> want = load(*packed_, 0, world().rank(), world().size(), epoch, 2 * epoch);
  const TokenShards shards(scratch_ / "a*.h5", world(), {ReadMethod::pread, KeepRows::in_memory});
  const auto loader_of = [&](std::int64_t first) {
    return TextLoader(shards, *packed_, sampler_of(*packed_), {2, HostMemory::pageable}, world().rank(), world().size(),
                      first, first + epoch);
  };
  {
    TextLoader first = loader_of(0);
    while (first.next())
      continue;
  }
  world().barrier();
  if (world().is_root())
    for (const std::string& file : shards.files())
      std::filesystem::resize_file(file, 100);
  world().barrier();

  TextLoader second = loader_of(epoch);  // what other ranks have read, too
  for (const TextBatch& batch : want) {
    const std::optional<TextBatch> got = second.next();
    ASSERT_TRUE(got);
    EXPECT_TRUE(at::equal(got->tokens, batch.tokens));
    EXPECT_TRUE(at::equal(got->targets, batch.targets));
  }
}

TEST_F(TextLoaderTest, KeepsHeldBatchesAndUsesMemoryAgain) {
  const std::vector<TextBatch> want = load(*packed_, 0, 0, 1, 0, 100);
  TextLoader loader(*shards_, *packed_, sampler_of(*packed_), {2, HostMemory::pageable}, 0, 1, 0, 100);
  std::set<const void*> places;
  std::vector<at::Tensor> views;
  for (int step = 0; step < 100; ++step) {
    const TextBatch batch = loader.next().value();
    places.insert(batch.tokens.const_data_ptr());
    places.insert(batch.targets.const_data_ptr());
    if (step == 1) views.push_back(batch.tokens.narrow(0, 1, 2));
  }
  EXPECT_LE(places.size(), 10u);
  EXPECT_TRUE(at::equal(views[0], want[1].tokens.narrow(0, 1, 2)));
  EXPECT_LE(10 * 6 * packed_->longest_row() * 8,
            2 * loader_bytes({2, HostMemory::pageable}, 6, packed_->longest_row()));
}

TEST_F(TextLoaderTest, GivesEmptyBatchesToRanksWithoutRows) {
  for (const int prefetch : {0, 2})
    for (const TextBatch& batch : load(*padded_, prefetch, 6, 7, 0, 4)) {
      EXPECT_EQ(batch.num_rows, 0);
      EXPECT_EQ(batch.tokens.size(0), 0);
      EXPECT_GT(batch.tokens.size(1), 0);
      EXPECT_GT(batch.global_targets, 0);
    }
}

TEST_F(TextLoaderTest, ThrowsAnErrorInPlaceOfItsBatch) {
  // Only the second shard goes bad: batches before the first row of it are delivered.
  TextRows rows(*shards_, {}, world());
  Sampler in_order({rows.num_rows(), 6, 1, false, false});
  world().barrier();
  if (world().is_root()) std::filesystem::resize_file(scratch_ / "a1.h5", 700);
  world().barrier();
  for (const int prefetch : {0, 1, 4}) {
    TextLoader loader(*shards_, rows, in_order, {prefetch, HostMemory::pageable}, 0, 1, 0, 7);
    for (int step = 0; step < 3; ++step)
      EXPECT_TRUE(loader.next());
    for (int attempt = 0; attempt < 2; ++attempt)
      EXPECT_THROW(loader.next(), DataError) << prefetch;
  }
  world().barrier();
}

TEST_F(TextLoaderTest, EndsItsThreadAtOnce) {
  for (int i = 0; i < 50; ++i) {
    TextLoader loader(*shards_, *packed_, sampler_of(*packed_), {4, HostMemory::pageable}, 0, 1, 0, 1'000'000'000);
    if (i % 2 == 0) loader.next();
  }
}

}  // namespace
}  // namespace multicard
