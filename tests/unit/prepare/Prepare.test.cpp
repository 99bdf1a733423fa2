// Shards from every format on any number of ranks, and that nothing is left after an error.
#include "prepare/sets/Prepare.hpp"

#include <cmath>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "comm/AbortRemovals.hpp"
#include "comm/Agreement.hpp"
#include "data/shards/ShardNames.hpp"
#include "io/Bytes.hpp"
#include "io/Hdf5.hpp"
#include "io/Sha256.hpp"
#include "support/test_world.hpp"
#include "unit/data/test_pictures.hpp"

namespace multicard {
namespace {

using namespace test;

PrepareOptions quiet(const std::string& format, const std::string& output) {
  PrepareOptions options;
  options.format = image_format(format);
  options.output = output;
  options.quiet = true;
  return options;
}

/// Runs `body` on rank 0 while the others wait.
template <class Body>
void on_root(Body&& body) {
  if (world().is_root()) body();
  world().barrier();
}

struct Stored {
  Extents dims;
  Bytes images;
  std::vector<std::int32_t> labels;
  std::map<std::string, Hdf5Value> attributes;
};

Stored read_shard(const std::string& path) {
  Hdf5File file = Hdf5File::open_read(path);
  return {file.dims("/images"), file.open_dataset("/images").read_all<std::uint8_t>(),
          file.open_dataset("/labels").read_all<std::int32_t>(), file.attributes("/")};
}

void expect_error(const PrepareOptions& options, ExitCode code, const std::string& text) {
  try {
    prepare_images(options, world());
    ADD_FAILURE() << "no error with: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(error.scope(), world().size() > 1 ? Scope::all_ranks : error.scope()) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

/// Everything in a folder, also names that start with a dot.
std::set<std::string> entries(const std::filesystem::path& folder) {
  world().barrier();
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  world().barrier();
  return names;
}

/// Two classes with seven pictures, all 6 x 5 in colour unless changed.
void write_pictures(const std::string& folder) {
  on_root([&] {
    for (const std::string name : {"cat", "dog"}) {
      std::filesystem::create_directories(folder + "/" + name);
      for (int i = 0; i < (name == "cat" ? 4 : 3); ++i) {
        Image image{{6, 5, 3}, pattern(90)};
        image.pixels[0] = static_cast<std::uint8_t>(name == "cat" ? i : 10 + i);
        write_png(folder + "/" + name + "/" + std::to_string(i) + ".png", image);
      }
    }
  });
}

TEST(ImageFormat, OfAnUnknownWordIsRefused) {
  EXPECT_EQ(image_format("cifar"), ImageFormat::cifar);
  try {
    image_format("avif");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("no image format avif"), std::string::npos);
  }
}

TEST(Prepare, StoresConsecutiveBlocksWhateverTheRanks) {
  const ScratchFolder scratch;
  PrepareOptions options = quiet("synthetic", scratch / "sub/folder/train");
  options.size = 9;
  options.classes = 3;
  options.limit = 20;
  options.num_shards = 3;
  const PrepareResult together = prepare_images(options, world());
  options.output = scratch / ("alone" + std::to_string(world().rank()));
  const PrepareResult alone = prepare_images(options, Communicator::null());

  ASSERT_EQ(together.files.size(), 3u);
  EXPECT_EQ(together.files[1], scratch / "sub/folder/train-00001-of-00003.h5");
  EXPECT_EQ(together.num_images, 20);
  const std::uint64_t rows[] = {7, 7, 6};
  std::size_t next = 0;
  for (std::size_t shard = 0; shard < 3; ++shard) {
    const Stored a = read_shard(together.files[shard]), b = read_shard(alone.files[shard]);
    EXPECT_EQ(a.dims, (Extents{rows[shard], 9, 9, 3}));
    EXPECT_EQ(a.images, b.images);
    EXPECT_EQ(a.labels, b.labels);
    EXPECT_EQ(a.attributes, b.attributes);
    for (const std::int32_t label : a.labels)
      EXPECT_EQ(label, static_cast<std::int32_t>(next++ % 3));
  }
  EXPECT_EQ(entries(scratch / "sub/folder").size(), 3u);
}

TEST(Prepare, DescribesTheWholeSetInEveryShard) {
  const ScratchFolder scratch;
  const Bytes pixels = {0, 51, 102, 153, 204, 255, 255, 255};
  on_root([&] {
    write_bytes(scratch / "images", idx(0x803, {4, 1, 2}, pixels));
    write_bytes(scratch / "labels", idx(0x801, {4}, {1, 0, 2, 1}));
  });
  PrepareOptions options = quiet("idx", scratch / "set");
  options.images = scratch / "images";
  options.labels = scratch / "labels";
  options.num_shards = 2;
  options.class_names = {"shirt", "shoe", "bag"};

  const PrepareResult result = prepare_images(options, world());

  double sum = 0, squares = 0;
  for (const double byte : pixels)
    sum += byte / 255 / 8, squares += byte / 255 * byte / 255 / 8;
  const std::string lines =
      sha256_of_file(options.images) + "  images\n" + sha256_of_file(options.labels) + "  labels\n";
  for (const std::string& path : result.files) {
    Hdf5File file = Hdf5File::open_read(path);
    EXPECT_EQ(file.attribute<std::string>("/", "format"), "multicard-images");
    EXPECT_EQ(file.attribute<std::int64_t>("/", "schema_version"), 1);
    EXPECT_EQ(file.attribute<std::vector<std::string>>("/", "class_names"), options.class_names);
    EXPECT_EQ(file.attribute<std::string>("/", "source"), "idx images labels");
    EXPECT_EQ(file.attribute<std::string>("/", "source_sha256"), sha256(lines));
    EXPECT_EQ(file.attribute<std::int64_t>("/", "count"), 4);
    EXPECT_NEAR(file.attribute<std::vector<double>>("/", "mean").at(0), sum, 1e-15);
    EXPECT_NEAR(file.attribute<std::vector<double>>("/", "std").at(0), std::sqrt(squares - sum * sum), 1e-12);
  }
  EXPECT_EQ(read_shard(result.files[1]).images, (Bytes{204, 255, 255, 255}));
  EXPECT_EQ(read_shard(result.files[1]).labels, (std::vector<std::int32_t>{2, 1}));
}

TEST(Prepare, TakesFoldersInOrder) {
  const ScratchFolder scratch;
  write_pictures(scratch / "pictures");
  PrepareOptions options = quiet("folder", scratch / "set");
  options.dir = scratch / "pictures";

  const Stored stored = read_shard(prepare_images(options, world()).files.at(0));

  EXPECT_EQ(stored.dims, (Extents{7, 6, 5, 3}));
  EXPECT_EQ(stored.labels, (std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1}));
  const int firsts[] = {0, 1, 2, 3, 10, 11, 12};
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_EQ(stored.images[90 * i], firsts[i]);
}

TEST(Prepare, ResizesAndTurnsGreyIntoColour) {
  const ScratchFolder scratch;
  write_pictures(scratch / "pictures");
  on_root([&] { write_png(scratch / "pictures/dog/1.png", Image{{12, 4, 1}, Bytes(48, 77)}); });
  PrepareOptions options = quiet("folder", scratch / "set");
  options.dir = scratch / "pictures";
  expect_error(options, ExitCode::data, "Give --size S");
  options.size = 4;

  const Stored stored = read_shard(prepare_images(options, world()).files.at(0));

  EXPECT_EQ(stored.dims, (Extents{7, 4, 4, 3}));
  EXPECT_EQ(Bytes(stored.images.begin() + 5 * 48, stored.images.begin() + 6 * 48), Bytes(48, 77));
}

TEST(Prepare, NamesTwoFilesOfDifferentSizes) {
  const ScratchFolder scratch;
  write_pictures(scratch / "pictures");
  on_root([&] { write_png(scratch / "pictures/dog/2.png", Image{{3, 4, 3}, Bytes(36, 1)}); });
  PrepareOptions options = quiet("folder", scratch / "set");
  options.dir = scratch / "pictures";

  expect_error(options, ExitCode::data, "dog/2.png is 4 x 3");
  expect_error(options, ExitCode::data, "cat/0.png is 5 x 6");
}

TEST(Prepare, StopsAtABadPictureAndLeavesNothing) {
  const ScratchFolder scratch;
  write_pictures(scratch / "pictures");
  on_root([&] { cut_file(scratch / "pictures/dog/2.png", 60); });
  PrepareOptions options = quiet("folder", scratch / "out/set");
  options.dir = scratch / "pictures";
  options.num_shards = 3;

  expect_error(options, ExitCode::data, "dog/2.png");

  EXPECT_TRUE(entries(scratch / "out").empty());
}

TEST(Prepare, SkipsBadPicturesWhenAsked) {
  const ScratchFolder scratch;
  write_pictures(scratch / "pictures");
  on_root([&] {
    cut_file(scratch / "pictures/cat/1.png", 60);
    write_bytes(scratch / "pictures/dog/0.png", {});
    write_jpeg(scratch / "pictures/dog/9.jpg", Image{{6, 5, 3}, pattern(90)}, JCS_RGB);
    cut_file(scratch / "pictures/dog/9.jpg", read_bytes(scratch / "pictures/dog/9.jpg").size() - 20);
  });
  PrepareOptions options = quiet("folder", scratch / "set");
  options.dir = scratch / "pictures";
  options.skip_bad = true;
  options.num_shards = 2;

  const PrepareResult result = prepare_images(options, world());

  EXPECT_EQ(result.num_skipped, 3);
  EXPECT_EQ(result.num_images, 5);
  const Stored first = read_shard(result.files.at(0)), second = read_shard(result.files.at(1));
  EXPECT_EQ(first.labels, (std::vector<std::int32_t>{0, 0, 0}));
  EXPECT_EQ(first.images[90], 2);
  EXPECT_EQ(second.labels, (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(second.images[0], 11);
}

TEST(Prepare, SaysWhenNoPictureCanBeRead) {
  const ScratchFolder scratch;
  on_root([&] {
    std::filesystem::create_directories(scratch / "pictures/cat");
    write_bytes(scratch / "pictures/cat/0.png", {1, 2, 3});
  });
  PrepareOptions options = quiet("folder", scratch / "set");
  options.dir = scratch / "pictures";
  options.skip_bad = true;

  expect_error(options, ExitCode::data, "no image can be read");
}

TEST(Prepare, AnAbortOfAnyRankRemovesShardsThenNamesThenTheJournal) {
  const ScratchFolder scratch;
  const std::string prefix = scratch / "train";
  const PendingShards shards(prefix, 2, world());
  const NamingJournal journal(prefix, shards.names(), world());

  const std::vector<std::string> removed = removed_on_abort();

  ASSERT_EQ(removed.size(), 5U);
  EXPECT_EQ(std::vector(removed.begin(), removed.begin() + 2), (std::vector{shards.path(0), shards.path(1)}));
  EXPECT_EQ(std::vector(removed.begin() + 2, removed.begin() + 4), shards.names());
  EXPECT_TRUE(removed.back().ends_with(".part"));
}

TEST(Prepare, NeverOverwritesShards) {
  const ScratchFolder scratch;
  PrepareOptions options = quiet("synthetic", scratch / "train");
  options.limit = 8;
  options.size = 4;
  options.num_shards = 2;
  prepare_images(options, world());
  const std::string before = sha256_of_file(scratch / "train-00001-of-00002.h5");
  options.num_shards = 3;  // a glob would take both sets for one

  expect_error(options, ExitCode::data, "train-0000");

  EXPECT_EQ(entries(scratch.path()).size(), 2u);
  EXPECT_EQ(sha256_of_file(scratch / "train-00001-of-00002.h5"), before);
  options.output = scratch / "trai";  // another name
  EXPECT_NO_THROW(prepare_images(options, world()));
}

TEST(Prepare, ChecksLabels) {
  const ScratchFolder scratch;
  on_root([&] {
    write_bytes(scratch / "images", idx(0x803, {4, 1, 2}, pattern(8)));
    write_bytes(scratch / "labels", idx(0x801, {4}, {1, 0, 2, 9}));
  });
  PrepareOptions options = quiet("idx", scratch / "set");
  options.images = scratch / "images";
  options.labels = scratch / "labels";
  options.classes = 9;
  expect_error(options, ExitCode::data, "image 3 of " + (scratch / "images") + " has label 9");
  options.classes = 12;
  EXPECT_NO_THROW(prepare_images(options, world()));
  options.output = scratch / "limited";
  options.classes = 3;
  options.limit = 3;  // the label of the fourth is not asked for

  const Stored stored = read_shard(prepare_images(options, world()).files.at(0));

  EXPECT_EQ(stored.labels, (std::vector<std::int32_t>{1, 0, 2}));
}

TEST(Prepare, FindsTruncatedInput) {
  const ScratchFolder scratch;
  on_root([&] {
    write_bytes(scratch / "images", idx(0x803, {40, 4, 4}, pattern(40 * 16 - 1)));
    write_bytes(scratch / "labels", idx(0x801, {40}, Bytes(40, 1)));
  });
  PrepareOptions options = quiet("idx", scratch / "out/set");
  options.images = scratch / "images";
  options.labels = scratch / "labels";
  options.num_shards = 4;

  expect_error(options, ExitCode::data, "truncated");

  EXPECT_TRUE(entries(scratch / "out").empty());
}

TEST(Prepare, RefusesOptionsThatDoNotFit) {
  const ScratchFolder scratch;
  PrepareOptions options = quiet("synthetic", scratch / "set");
  options.limit = 3;
  options.num_shards = 4;
  expect_error(options, ExitCode::usage, "3 images cannot fill 4 shards");
  options.num_shards = 0;
  expect_error(options, ExitCode::usage, "--shards");
  expect_error(quiet("idx", scratch / "set"), ExitCode::usage, "--images");
  expect_error(quiet("folder", scratch / "set"), ExitCode::usage, "--dir");
  expect_error(quiet("synthetic", scratch / ""), ExitCode::usage, "prefix");
  options = quiet("synthetic", scratch / "set");
  options.classes = 3;
  options.class_names = {"a", "b"};
  expect_error(options, ExitCode::usage, "--class-names");
  EXPECT_TRUE(entries(scratch.path()).empty());
}

TEST(Prepare, SplitsIntoTrainingAndTestSets) {
  const ScratchFolder scratch;
  PrepareOptions options = quiet("synthetic", scratch / "set");
  options.limit = 30;
  options.size = 6;
  options.classes = 2;
  options.num_shards = 2;
  options.split = 0.2;

  const PrepareResult result = prepare_images(options, world());

  ASSERT_EQ(result.files.size(), 4u);
  EXPECT_EQ(result.files[0], scratch / "set-train-00000-of-00002.h5");
  EXPECT_EQ(result.files[2], scratch / "set-test-00000-of-00002.h5");
  std::multiset<Bytes> stored, wanted;
  std::vector<std::uint64_t> counts;
  const auto add = [](std::multiset<Bytes>& set, const Bytes& images) {
    for (auto row = images.begin(); row != images.end(); row += 108)
      set.insert(Bytes(row, row + 108));
  };
  for (const std::string& path : result.files) {
    const Stored shard = read_shard(path);
    counts.push_back(shard.dims[0]);
    add(stored, shard.images);
  }
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{12, 12, 3, 3}));
  options.split.reset();
  for (const std::string& path : prepare_images(options, world()).files)
    add(wanted, read_shard(path).images);
  EXPECT_EQ(stored, wanted);
}

TEST(Prepare, SaysThatADiskIsFullAndLeavesNothing) {
  const ScratchFolder scratch;
  const std::string disk = scratch / "disk";
  bool is_mounted = false;
  if (world().is_root()) {
    std::filesystem::create_directories(disk);
    is_mounted = geteuid() == 0 && mount("none", disk.c_str(), "tmpfs", 0, "size=2m") == 0;
  }
  is_mounted = world().broadcast_value(is_mounted ? 1 : 0) == 1;
  if (!is_mounted) GTEST_SKIP() << "NOT TESTED: a full disk, because this process may not mount a small file system";
  PrepareOptions options = quiet("synthetic", disk + "/set");
  options.size = 64;
  options.limit = 300;  // 3.7 MB
  options.num_shards = 4;

  expect_error(options, ExitCode::data, "No space left");

  EXPECT_TRUE(entries(disk).empty());
  on_root([&] { umount2(disk.c_str(), MNT_DETACH); });
}

}  // namespace
}  // namespace multicard
