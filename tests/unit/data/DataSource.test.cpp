// The ways of reading give every rank the same rows.
#include "data/loading/DataSource.hpp"

#include <fstream>
#include <functional>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "base/Blocks.hpp"
#include "data/loading/ImageDataSource.hpp"
#include "data/loading/TextDataSource.hpp"
#include "prepare/sets/Prepare.hpp"
#include "prepare/sets/TextPrepare.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

constexpr std::int64_t kBatch = 7;

void write_images(const ScratchFolder& scratch) {
  PrepareOptions options;
  options.format = ImageFormat::synthetic;
  options.size = 8;
  options.classes = 5;
  options.limit = 25;
  options.num_shards = 2;
  options.output = scratch / "images";
  options.quiet = true;
  prepare_images(options, world());
}

void write_text(const ScratchFolder& scratch) {
  if (world().is_root()) {
    std::ofstream out(scratch / "rows.jsonl");
    for (int row = 0; row < 25; ++row) {
      std::string ids = "1";
      for (int i = 0; i < 3 + row % 6; ++i)
        ids += ", " + std::to_string(row + i);
      out << R"({"input_ids": [)" << ids << R"(], "labels": [)" << ids << "]}\n";
    }
  }
  world().barrier();
  TextPrepareOptions options;
  options.type = DatasetType::tokens;
  options.inputs = {scratch / "rows.jsonl"};
  options.output = scratch / "text";
  options.num_shards = 2;
  options.quiet = true;
  prepare_text(options, world());
}

std::unique_ptr<DataSource> images(const ScratchFolder& scratch, InputPipeline pipeline) {
  ImageSourceOptions options;
  options.shards = scratch / "images*.h5";
  options.loader.preprocess.size = 12;
  options.loader.pipeline = pipeline;
  options.loader.augment.horizontal_flip = 0.5;
  options.order.global_batch = kBatch;
  return ImageDataSource::open(options, world(), at::kCPU);
}

std::unique_ptr<DataSource> text(const ScratchFolder& scratch) {
  TextSourceOptions options;
  options.shards = {scratch / "text*.h5"};
  options.order.global_batch = kBatch;
  return TextDataSource::open(options, world(), at::kCPU);
}

Batch next_of(DataSource& source) {
  return source.finish(source.to_device(source.next()));
}

void expect_equal(const Batch& batch, const Batch& expected) {
  EXPECT_EQ(batch.step, expected.step);
  EXPECT_EQ(batch.epoch, expected.epoch);
  EXPECT_EQ(batch.num_rows, expected.num_rows);
  EXPECT_EQ(batch.global_rows, expected.global_rows);
  EXPECT_EQ(batch.global_targets, expected.global_targets);
  EXPECT_EQ(batch.shapes, expected.shapes);
  EXPECT_TRUE(at::equal(batch.inputs, expected.inputs));
  EXPECT_TRUE(at::equal(batch.targets, expected.targets));
}

/// Every source, opened twice. Collective.
void for_each_kind(const std::function<void(DataSource& one, DataSource& other)>& body) {
  const ScratchFolder scratch;
  write_images(scratch);
  write_text(scratch);
  const std::function<std::unique_ptr<DataSource>()> kinds[] = {[&] { return images(scratch, InputPipeline::host); },
                                                                [&] { return images(scratch, InputPipeline::device); },
                                                                [&] { return text(scratch); }};
  for (const auto& open : kinds) {
    const std::unique_ptr<DataSource> one = open(), other = open();
    body(*one, *other);
  }
}

TEST(DataSource, ReplicatedReadingGivesTheRowsOfShardedReading) {
  for_each_kind([](DataSource& sharded, DataSource& replicated) {
    const int rank = world().rank(), size = world().size();
    sharded.start_reading({rank, size, 0, 8, Reading::sharded});
    replicated.start_reading({rank, size, 0, 8, Reading::replicated});

    for (int step = 0; step < 8; ++step)
      expect_equal(next_of(replicated), next_of(sharded));
  });
}

TEST(DataSource, TheRootReadsAllRowsInTheOrderOfTheRanks) {
  for_each_kind([](DataSource& sharded, DataSource& whole) {
    const int rank = world().rank(), size = world().size();
    sharded.start_reading({rank, size, 0, 5, Reading::sharded});
    whole.start_reading({rank, size, 0, 5, Reading::root});

    for (std::int64_t step = 0; step < 5; ++step) {
      const Batch all = next_of(whole), mine = next_of(sharded);
      const Block own = block_of(whole.rows_in(step), rank, size);
      EXPECT_EQ(all.num_rows, whole.rows_in(step));
      expect_equal(all.rows(own.first, own.count), mine);
    }
  });
}

TEST(DataSource, AllocatesWhatItWouldHaveRead) {
  for_each_kind([](DataSource& source, DataSource& scattered) {
    const int rank = world().rank(), size = world().size();
    source.start_reading({rank, size, 3, 6, Reading::sharded});
    scattered.start_reading({rank, size, 3, 6, Reading::none});

    for (std::int64_t step = 3; step < 6; ++step) {
      const Batch read = source.to_device(source.next()), allocated = scattered.allocate(step);
      EXPECT_EQ(allocated.step, step);
      EXPECT_EQ(allocated.global_targets, read.global_targets);
      ASSERT_EQ(allocated.tensors().size(), read.tensors().size());
      for (std::size_t i = 0; i < read.tensors().size(); ++i) {
        EXPECT_EQ(allocated.tensors()[i].sizes(), read.tensors()[i].sizes());
        EXPECT_EQ(allocated.tensors()[i].scalar_type(), read.tensors()[i].scalar_type());
      }
    }
  });
}

TEST(DataSource, BeginsAtAnyStepAndCanBeStartedAgain) {
  for_each_kind([](DataSource& source, DataSource& other) {
    const int rank = world().rank(), size = world().size();
    source.start_reading({rank, size, 0, 8, Reading::sharded});
    for (int step = 0; step < 5; ++step)
      source.next();
    const Batch expected = next_of(source);

    other.start_reading({rank, size, 0, 8, Reading::sharded});
    other.next();
    other.start_reading({rank, size, 5, 8, Reading::sharded});
    expect_equal(next_of(other), expected);
    other.stop_reading();
    other.stop_reading();
  });
}

TEST(DataSource, AnEpochHasEveryRowOnce) {
  for_each_kind([](DataSource& source, DataSource&) {
    std::int64_t num_rows = 0;
    for_each_batch(source, world(), [&](const Batch& batch) {
      EXPECT_GT(batch.num_rows, 0);
      num_rows += batch.num_rows;
    });
    EXPECT_EQ(world().allreduce(num_rows, ReduceOp::sum), 25);
  });
}

}  // namespace
}  // namespace multicard
