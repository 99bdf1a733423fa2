// What shards of others hold is known, or named, or refused.
#include "data/shards/ShardContents.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "prepare/sets/Prepare.hpp"
#include "support/test_world.hpp"
#include "unit/data/expect_data_error.hpp"
#include "unit/data/test_tokens.hpp"

namespace multicard {
namespace {

using namespace test;
using Names = std::vector<std::string>;

struct ImageShard {
  ScratchFolder scratch;
  std::string path;

  ImageShard() {
    PrepareOptions options;
    options.format = ImageFormat::synthetic;
    options.output = scratch / "set";
    options.limit = 2;
    options.size = 4;
    options.classes = 2;
    options.quiet = true;
    path = prepare_images(options, Communicator::null()).files.at(0);
  }

  Names unknown(const std::function<void(Hdf5File&)>& change) const {
    Hdf5File file = Hdf5File::open_update(path);
    change(file);
    return unknown_contents(file, ShardKind::image);
  }
};

TEST(ShardContents, AreAllKnownOfTheProgramsOwn) {
  EXPECT_EQ(ImageShard().unknown([](Hdf5File&) {}), Names{});
}

TEST(ShardContents, OfOthersAreNamed) {
  const Names unknown = ImageShard().unknown([](Hdf5File& file) {
    file.write_values("/boxes", std::vector<double>{1});
    file.write_attribute("/", "author", std::string("x"));
    file.write_attribute("/images", "unit", std::string("x"));
    file.write_attribute("/images", "CLASS", std::string("IMAGE"));
  });

  EXPECT_EQ(unknown, (Names{"/boxes", "/images: unit", "author"}));
}

TEST(ShardContents, ThatChangeNumbersAreRefused) {
  const ImageShard scaled, weighted;

  expect_data_error(
      [&] { scaled.unknown([](Hdf5File& file) { file.write_attribute("/images", "scale_factor", 0.5); }); },
      "has /images: scale_factor, which is not supported");
  expect_data_error(
      [&] {
        weighted.unknown([](Hdf5File& file) { file.write_values("/sample_weights", std::vector<double>{1, 2}); });
      },
      "has /sample_weights, which is not supported (images would not count alike)");
}

TEST(ShardContents, OfTokenShardsAreKnown) {
  const ScratchFolder scratch;
  write_shard(scratch / "a.h5", {counting(1, 4, 2)});

  EXPECT_EQ(unknown_contents(Hdf5File::open_read(scratch / "a.h5"), ShardKind::token), Names{});
}

}  // namespace
}  // namespace multicard
