// The real data set, from the Debian package dataset-fashion-mnist or a folder named by FASHION_MNIST_DIR.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "data/shards/ImageShards.hpp"
#include "prepare/files/SeekableInput.hpp"
#include "prepare/sets/Prepare.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using namespace test;

std::string fashion_folder() {
  const char* folder = std::getenv("FASHION_MNIST_DIR");
  return folder ? folder : "/usr/share/datasets/fashion-mnist";
}

TEST(FashionMnist, IsPreparedWhole) {
  const std::string folder = fashion_folder(), images = folder + "/train-images-idx3-ubyte.gz";
  if (!std::filesystem::exists(images))
    GTEST_SKIP() << "NOT TESTED: Fashion-MNIST, because " << images
                 << " is missing (apt install dataset-fashion-mnist)";
  const ScratchFolder scratch;
  PrepareOptions options;
  options.format = ImageFormat::idx;
  options.images = images;
  options.labels = folder + "/train-labels-idx1-ubyte.gz";
  options.output = scratch / "train";
  options.num_shards = 4;
  options.quiet = true;

  prepare_images(options, world());
  const ImageShards shards(scratch / "train*.h5", world());

  const ImageSetInfo& info = shards.info();
  EXPECT_EQ(info.num_rows, 60000);
  EXPECT_EQ(info.height, 28);
  EXPECT_EQ(info.width, 28);
  EXPECT_EQ(info.channels, 1);
  EXPECT_EQ(info.class_names.size(), 10u);
  // The values that everybody normalises with: 0.2860 and 0.3530.
  EXPECT_NEAR(info.mean.at(0), 0.2860, 5e-5);
  EXPECT_NEAR(info.std.at(0), 0.3530, 5e-5);
  std::vector<int> counts(10);
  for (const std::int32_t label : shards.labels())
    ++counts[static_cast<std::size_t>(label)];
  EXPECT_EQ(counts, std::vector<int>(10, 6000));
  std::vector<std::uint8_t> plain(60000 * 784);
  SeekableInput(images).read(16, plain);
  std::vector<std::int64_t> rows = {59999, 0, 15000, 14999, 31415};
  std::vector<std::uint8_t> pixels(rows.size() * 784);
  shards.read_rows(rows, pixels);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(std::equal(pixels.begin() + static_cast<std::ptrdiff_t>(784 * i),
                           pixels.begin() + static_cast<std::ptrdiff_t>(784 * (i + 1)), plain.begin() + 784 * rows[i]))
        << rows[i];
}

}  // namespace
}  // namespace multicard
