// Files that are not one set, each shard once, are refused.
#include "data/shards/ShardMembership.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "data/shards/ImageShards.hpp"
#include "data/shards/TokenShards.hpp"
#include "prepare/sets/Prepare.hpp"
#include "support/test_world.hpp"
#include "unit/data/expect_data_error.hpp"
#include "unit/data/test_tokens.hpp"

namespace multicard {
namespace {

using namespace test;

ShardMembership membership(std::int64_t count, std::optional<std::int64_t> shard) {
  return {count, shard, {{"count", std::to_string(count)}, {"source_sha256", "ab"}}};
}

TEST(ShardSetCheck, AcceptsASetAndShardsThatSayNothing) {
  ShardSetCheck whole("*.h5", "images"), unknown("*.h5", "images");
  for (const std::int64_t shard : {0, 1})
    whole.add(std::to_string(shard), membership(10, shard), 5);
  unknown.add("a", {}, 7);
  unknown.add("b", membership(3, 0), 7);

  EXPECT_NO_THROW(whole.finish());
  EXPECT_NO_THROW(unknown.finish());
}

TEST(ShardSetCheck, AcceptsAPartOfASet) {
  ShardSetCheck check("*.h5", "images");
  check.add("a", membership(10, 1), 5);

  EXPECT_NO_THROW(check.finish());
}

TEST(ShardSetCheck, NamesACopy) {
  ShardSetCheck check("*.h5", "images");
  check.add("a.h5", membership(10, 0), 5);
  check.add("b.h5", membership(10, 1), 5);

  expect_data_error([&] { check.add("a_copy.h5", membership(10, 0), 5); }, "a.h5 and a_copy.h5 are the same shard");
}

TEST(ShardSetCheck, NamesTwoSets) {
  ShardSetCheck check("*.h5", "images");
  check.add("a.h5", membership(10, 0), 5);

  expect_data_error([&] { check.add("b.h5", membership(12, 1), 5); },
                    "a.h5 and b.h5 are of two sets (their attribute count is 10 and 12)");
}

TEST(ShardSetCheck, CountsCopiesOfShardsThatDoNotSayWhichTheyAre) {
  ShardSetCheck check("t*.h5", "images");
  for (const char* name : {"a", "b", "c"})
    check.add(name, membership(10, std::nullopt), 5);

  expect_data_error([&] { check.finish(); }, "t*.h5 names files with 15 images (their set has 10");
}

PrepareResult prepare(const std::string& output, std::int64_t count, std::int64_t num_shards) {
  PrepareOptions options;
  options.format = ImageFormat::synthetic;
  options.output = output;
  options.size = 4;
  options.classes = 2;
  options.limit = count;
  options.num_shards = num_shards;
  options.quiet = true;
  return prepare_images(options, world());
}

TEST(ShardMembership, KeepsImageSetsApart) {
  const ScratchFolder scratch;
  const PrepareResult set = prepare(scratch / "set", 8, 2);
  prepare(scratch / "set-more", 6, 1);
  EXPECT_EQ(ImageShards(scratch / "set-0000?-of-*.h5", world()).info().num_rows, 8);

  expect_data_error([&] { ImageShards(scratch / "set*.h5", world()); }, "are of two sets");

  if (world().is_root()) std::filesystem::copy_file(set.files[1], scratch / "set-00001-of-00002_copy.h5");
  world().barrier();
  expect_data_error([&] { ImageShards(scratch / "set-0*.h5", world()); }, "are the same shard");
}

TEST(ShardMembership, FindsCopiesOfShardsThatDoNotSayWhichTheyAre) {
  const ScratchFolder scratch;
  const PrepareResult set = prepare(scratch / "set", 8, 2);
  if (world().is_root()) {
    for (const std::string& path : set.files) {
      Hdf5File file = Hdf5File::open_update(path);
      for (const char* name : {"count", "num_shards", "shard", "labels_sha256", "source_sha256"})
        file.write_attribute("/", name, std::string());
    }
    std::filesystem::copy_file(set.files[1], scratch / "set-copy.h5");
  }
  world().barrier();
  EXPECT_EQ(ImageShards(scratch / "set-0*.h5", world()).info().num_rows, 8);
  expect_data_error([&] { ImageShards(scratch / "set*.h5", world()); }, "hold the same rows");
}

TEST(ShardMembership, NoticesLabelsThatWereChangedInPlace) {
  const ScratchFolder scratch;
  const PrepareResult set = prepare(scratch / "set", 8, 2);
  EXPECT_NO_THROW(ImageShards(scratch / "set-*.h5", world()));
  if (world().is_root()) {
    Hdf5File file = Hdf5File::open_update(set.files[1]);
    std::vector<std::int32_t> labels = file.open_dataset("/labels").read_all<std::int32_t>();
    labels[0] = 1 - labels[0];
    file.write_slab<std::int32_t>("/labels", {0}, {labels.size()}, labels);
  }
  world().barrier();
  expect_data_error([&] { ImageShards(scratch / "set-*.h5", world()); }, "has other labels than it was written with");
  EXPECT_NO_THROW(ImageShards(scratch / "set-00001*.h5", world())) << "a part has no digest";
}

TEST(ShardMembership, CountsTokenSets) {
  const ScratchFolder scratch;
  if (world().is_root())
    for (const char* name : {"a.h5", "b.h5", "c.h5"}) {
      write_shard(scratch / name, {counting(1, 4, 2), counting(5, 4, 2)});
      Hdf5File::open_update(scratch / name).write_attribute("/", "count", std::int64_t{4});
    }
  world().barrier();
  EXPECT_EQ(TokenShards(scratch / "[ab].h5", world()).info().num_sequences, 4);
  // Of several sets each is counted by itself.
  EXPECT_EQ(TokenShards({scratch / "[ab].h5", scratch / "c.h5"}, world()).info().num_sequences, 6);

  expect_data_error([&] { TokenShards(scratch / "*.h5", world()); }, "names files with 6 sequences (their set has 4");
}

}  // namespace
}  // namespace multicard
