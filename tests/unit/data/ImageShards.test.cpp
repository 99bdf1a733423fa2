#include "data/shards/ImageShards.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "prepare/sets/Prepare.hpp"
#include "support/test_world.hpp"
#include "unit/data/expect_data_error.hpp"
#include "unit/data/test_files.hpp"

namespace multicard {
namespace {

using test::expect_data_error;
using namespace test;

/// `count` synthetic 6 x 6 images of three classes.
PrepareResult prepare(const std::string& output, std::int64_t count, std::int64_t num_shards, std::int64_t size = 6,
                      std::int64_t classes = 3) {
  PrepareOptions options;
  options.format = ImageFormat::synthetic;
  options.output = output;
  options.size = size;
  options.classes = classes;
  options.limit = count;
  options.num_shards = num_shards;
  options.quiet = true;
  return prepare_images(options, world());
}

constexpr std::size_t kRowBytes = 6 * 6 * 3;

Bytes read(const ImageShards& shards, const std::vector<std::int64_t>& rows) {
  Bytes pixels(rows.size() * static_cast<std::size_t>(shards.bytes_per_row()));
  shards.read_rows(rows, pixels);
  return pixels;
}

const std::vector<ShardReading> kAllReadings{{ReadMethod::hdf5, KeepRows::no},
                                             {ReadMethod::hdf5, KeepRows::in_memory},
                                             {ReadMethod::pread, KeepRows::no},
                                             {ReadMethod::pread, KeepRows::in_memory}};

/// All rows of all shards, read without the class under test.
Bytes read_plainly(const PrepareResult& result) {
  Bytes all;
  for (const std::string& path : result.files) {
    const Bytes pixels = Hdf5File::open_read(path).open_dataset("/images").read_all<std::uint8_t>();
    all.insert(all.end(), pixels.begin(), pixels.end());
  }
  return all;
}

Bytes rows_of(const Bytes& all, const std::vector<std::int64_t>& rows) {
  Bytes picked;
  for (const std::int64_t row : rows)
    picked.insert(picked.end(), all.begin() + row * static_cast<std::int64_t>(kRowBytes),
                  all.begin() + (row + 1) * static_cast<std::int64_t>(kRowBytes));
  return picked;
}

TEST(ImageShards, ReportsWhatTheSetHolds) {
  const ScratchFolder scratch;
  prepare(scratch / "set", 20, 3);

  const ImageShards shards(scratch / "set*.h5", world());

  const ImageSetInfo& info = shards.info();
  EXPECT_EQ(info.num_rows, 20);
  EXPECT_EQ(info.height, 6);
  EXPECT_EQ(info.width, 6);
  EXPECT_EQ(info.channels, 3);
  EXPECT_EQ(info.num_shards, 3);
  EXPECT_EQ(info.num_bytes, 20 * 108);
  EXPECT_EQ(info.class_names, (std::vector<std::string>{"0", "1", "2"}));
  ASSERT_EQ(shards.labels().size(), 20u);
  for (std::size_t row = 0; row < 20; ++row)
    EXPECT_EQ(shards.labels()[row], static_cast<std::int32_t>(row % 3));
  EXPECT_EQ(shards.files().at(2), scratch / "set-00002-of-00003.h5");
}

/// What a scan would look at no longer holds; images stay.
void spoil_what_is_scanned(const PrepareResult& result) {
  if (world().is_root())
    for (const std::string& path : result.files) {
      Hdf5File file = Hdf5File::open_update(path);
      file.write_attribute("/", "format", std::string("nothing"));
      file.write_attribute("/", "mean", std::vector<double>{7});
      const std::vector<std::int32_t> labels(file.dims("/labels")[0], 999);
      file.write_slab<std::int32_t>("/labels", {0}, {labels.size()}, labels);
    }
  world().barrier();
}

TEST(ImageShards, AreOpenedAgainWithoutAScanOnOtherRanks) {
  const ScratchFolder scratch;
  const PrepareResult prepared = prepare(scratch / "set", 20, 3);
  const Bytes all = read_plainly(prepared);
  const int last = world().size() - 1;
  std::shared_ptr<const ImageSetScan> scan;
  if (world().rank() == last) scan = ImageShards(scratch / "set*.h5", Communicator::null(), 17).scan();
  scan = broadcast(scan, world(), last);
  spoil_what_is_scanned(prepared);
  for (const ShardReading& reading : kAllReadings) {
    const ImageShards shards(scan, world(), reading);

    EXPECT_EQ(shards.info().num_rows, 17);
    EXPECT_EQ(shards.info().num_shards, 3);
    EXPECT_EQ(shards.info().mean.size(), 3u);
    EXPECT_EQ(shards.info().class_names, (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_EQ(shards.files(), prepared.files);
    ASSERT_EQ(shards.labels().size(), 17u);
    EXPECT_EQ(shards.labels()[16], 1);
    EXPECT_EQ(read(shards, {16, 3, 11, 4, 0, 12, 13}), rows_of(all, {16, 3, 11, 4, 0, 12, 13}));
  }
  expect_data_error([&] { ImageShards(scratch / "set*.h5", world()); }, "is not an image shard");
}

TEST(ImageShards, ThatHaveChangedAreNotOpenedWithAnOldScan) {
  const ScratchFolder scratch;
  prepare(scratch / "set", 20, 2);
  const std::shared_ptr<const ImageSetScan> scan = ImageShards(scratch / "set*.h5", world()).scan();
  prepare(scratch / "other", 21, 2);
  if (world().is_root())
    std::filesystem::rename(scratch / "other-00000-of-00002.h5", scratch / "set-00000-of-00002.h5");
  world().barrier();

  expect_data_error([&] { ImageShards(scan, world(), {}); }, "has changed since the run began");
  if (world().is_root()) std::filesystem::remove(scratch / "set-00000-of-00002.h5");
  world().barrier();
  expect_data_error([&] { ImageShards(scan, world(), {}); }, "set-00000-of-00002.h5");
}

TEST(ImageShards, ReadsRowsInTheOrderAskedFor) {
  const ScratchFolder scratch;
  const Bytes all = read_plainly(prepare(scratch / "set", 20, 3));
  for (const ShardReading& reading : kAllReadings) {
    const ImageShards shards(scratch / "set*.h5", world(), {}, reading);
    for (const std::vector<std::int64_t>& rows :
         {std::vector<std::int64_t>{},  // nothing
          {4},
          {19, 3, 11, 4, 0, 12, 13},
          {5, 5, 7},  // repeats must not pass for a run
          {6, 7},     // over the end of a shard
          {3, 2, 1},
          {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}})
      EXPECT_EQ(read(shards, rows), rows_of(all, rows)) << rows.size() << " rows";
  }
}

TEST(ImageShards, ReadsKeptRowsFromNoFile) {
  const ScratchFolder scratch;
  for (const ReadMethod method : {ReadMethod::hdf5, ReadMethod::pread}) {
    const PrepareResult result = prepare(scratch / std::to_string(static_cast<int>(method)), 20, 2);
    const Bytes all = read_plainly(result);
    const ImageShards shards(scratch / std::to_string(static_cast<int>(method)) + "-*.h5", world(), 19,
                             {method, KeepRows::in_memory});
    // Together the ranks read rows 0 to 17, each its own.
    std::vector<std::int64_t> mine, seen;
    for (std::int64_t row = 0; row < 18; ++row) {
      seen.push_back(17 - row);
      if (row % world().size() == world().rank()) mine.push_back(row);
    }
    read(shards, mine);
    world().barrier();
    if (world().is_root())
      for (const std::string& file : result.files)
        std::filesystem::resize_file(file, 1000);
    world().barrier();

    EXPECT_EQ(read(shards, seen), rows_of(all, seen));
    expect_data_error([&] { read(shards, {0, 18}); }, "was truncated");
    EXPECT_EQ(shards.kept_bytes(), (RowCache::bytes(19, kRowBytes) + world().size() - 1) / world().size());
    world().barrier();
  }
}

TEST(ImageShards, ReadsChunkedImagesThroughTheLibraryOnly) {
  const ScratchFolder scratch;
  const Bytes all = read_plainly(prepare(scratch / "set", 8, 1));
  const std::string chunked = source_path("tests/data/images/chunked.h5").string();

  EXPECT_EQ(read(ImageShards(chunked, world()), {7, 2, 3}), rows_of(all, {7, 2, 3}));
  expect_data_error([&] { ImageShards(chunked, world(), {}, {ReadMethod::pread}); }, "stored in chunks");
}

TEST(ImageShards, TakesPlainReadsOfManyThreadsAtOnce) {
  const ScratchFolder scratch;
  const Bytes all = read_plainly(prepare(scratch / "set", 200, 3));
  for (const KeepRows keep : {KeepRows::no, KeepRows::in_memory}) {
    const ImageShards shards(scratch / "set*.h5", Communicator::null(), {}, {ReadMethod::pread, keep});
    std::vector<std::thread> threads;
    std::vector<int> num_wrong(4);
    for (std::size_t thread = 0; thread < num_wrong.size(); ++thread)
      threads.emplace_back([&, thread] {
        for (std::int64_t i = 0; i < 100; ++i) {
          const std::vector<std::int64_t> rows{(i * 37 + static_cast<std::int64_t>(thread)) % 200, i, 199 - i};
          if (read(shards, rows) != rows_of(all, rows)) ++num_wrong[thread];
        }
      });
    for (std::thread& thread : threads)
      thread.join();
    EXPECT_EQ(num_wrong, std::vector<int>(4));
  }
}

TEST(ImageShards, LetsRanksReadDifferentNumbersOfRows) {
  const ScratchFolder scratch;
  const Bytes all = read_plainly(prepare(scratch / "set", 20, 2));
  const ImageShards shards(scratch / "set*.h5", world());

  std::vector<std::int64_t> rows;
  for (int i = 0; i < 3 * world().rank(); ++i)
    rows.push_back((7 * i + world().rank()) % 20);

  EXPECT_EQ(read(shards, rows), rows_of(all, rows));
}

TEST(ImageShards, KeepsTheFirstRowsOnly) {
  const ScratchFolder scratch;
  prepare(scratch / "set", 20, 3);

  const ImageShards shards(scratch / "set*.h5", world(), 9), more(scratch / "set*.h5", world(), 90);

  EXPECT_EQ(shards.info().num_rows, 9);
  EXPECT_EQ(shards.info().num_bytes, 9 * 108);
  EXPECT_EQ(shards.labels().size(), 9u);
  EXPECT_THROW(read(shards, {9}), std::logic_error);
  EXPECT_EQ(more.info().num_rows, 20);
}

/// As other programs may write them, a mean of its own in each.
void forget_the_set(const PrepareResult& result) {
  if (world().is_root())
    for (const std::string& path : result.files) {
      Hdf5File file = Hdf5File::open_update(path);
      for (const char* name : {"count", "num_shards", "shard", "labels_sha256"})
        file.write_attribute("/", name, std::string());
    }
  world().barrier();
}

TEST(ImageShards, WeighsMeanAndSpreadByRows) {
  const ScratchFolder scratch;
  const PrepareResult a = prepare(scratch / "a", 5, 1), b = prepare(scratch / "b", 15, 2);
  forget_the_set(a);
  forget_the_set(b);
  const ImageShards shards(scratch / "?-*.h5", world());
  Bytes all = read_plainly(a);
  const Bytes more = read_plainly(b);
  all.insert(all.end(), more.begin(), more.end());

  for (std::size_t channel = 0; channel < 3; ++channel) {
    double sum = 0, squares = 0;
    for (std::size_t i = channel; i < all.size(); i += 3)
      sum += all[i] / 255.0, squares += all[i] / 255.0 * all[i] / 255.0;
    const double count = static_cast<double>(all.size()) / 3, mean = sum / count;
    EXPECT_NEAR(shards.info().mean[channel], mean, 1e-12);
    EXPECT_NEAR(shards.info().std[channel], std::sqrt(squares / count - mean * mean), 1e-12);
  }
}

TEST(ImageShards, KeepsTheStatisticsOfASetToTheLastBit) {
  const ScratchFolder scratch;
  const PrepareResult result = prepare(scratch / "set", 20, 3);
  Hdf5File file = Hdf5File::open_read(result.files[0]);

  const ImageShards shards(scratch / "set*.h5", world());

  EXPECT_EQ(shards.info().mean, file.attribute<std::vector<double>>("/", "mean"));
  EXPECT_EQ(shards.info().std, file.attribute<std::vector<double>>("/", "std"));
}

TEST(ImageShards, RefusesShardsThatDoNotFit) {
  const ScratchFolder scratch;
  prepare(scratch / "a", 6, 1);
  prepare(scratch / "b", 6, 1, 7);
  prepare(scratch / "c", 6, 1, 6, 4);
  const auto open = [&](const std::string& pattern) {
    return [&, pattern] { ImageShards(scratch / pattern, world()); };
  };

  expect_data_error(open("[ab]-*.h5"), "6 x 6 x 3 and 7 x 7 x 3");
  expect_data_error(open("[ac]-*.h5"), "class names differ");
  expect_data_error(open("d*.h5"), "d*.h5");
}

TEST(ImageShards, NoticesThatAShardOfTheSetIsMissing) {
  const ScratchFolder scratch;
  prepare(scratch / "set", 20, 3);
  prepare(scratch / "other", 20, 1);
  if (world().is_root()) std::filesystem::remove(scratch / "set-00001-of-00003.h5");
  world().barrier();
  const auto open = [&](const std::string& pattern) { ImageShards(scratch / pattern, world()); };

  expect_data_error([&] { open("set*.h5"); }, "set-00001-of-00003.h5 is missing");
  expect_data_error([&] { open("*.h5"); }, "set-00001-of-00003.h5 is missing");

  // Names that do not cover the missing one were meant so.
  open("set-00000-of-00003.h5");
  open("set-0000[02]*.h5");
  open("other*.h5");
}

TEST(ImageShards, RefusesOtherFiles) {
  const ScratchFolder scratch;
  const PrepareResult result = prepare(scratch / "set", 6, 1);
  const auto changed = [&](const std::string& name, const std::function<void(Hdf5File&)>& change) {
    if (world().is_root()) {
      std::filesystem::copy_file(result.files[0], scratch / name);
      Hdf5File file = Hdf5File::open_update(scratch / name);
      change(file);
    }
    world().barrier();
    return [&, name] { ImageShards(scratch / name, world()); };
  };
  if (world().is_root()) write_bytes(scratch / "text.h5", {'n', 'o'});
  if (world().is_root()) {
    Hdf5File empty = Hdf5File::create(scratch / "empty.h5");
    empty.write_attribute("/", "format", std::string("multicard-images"));
    empty.write_attribute("/", "schema_version", std::int64_t{1});
  }
  world().barrier();

  expect_data_error([&] { ImageShards(scratch / "text.h5", world()); }, "text.h5");
  expect_data_error([&] { ImageShards(scratch / "empty.h5", world()); }, "/images");
  expect_data_error(
      changed("results.h5",
              [](Hdf5File& file) { file.write_attribute("/", "format", std::string("multicard-results")); }),
      "is not an image shard");
  expect_data_error(
      changed("new.h5", [](Hdf5File& file) { file.write_attribute("/", "schema_version", std::int64_t{2}); }),
      "its schema_version is 2, this program knows 1");
  expect_data_error(
      changed("label.h5",
              [](Hdf5File& file) { file.write_slab<std::int32_t>("/labels", {4}, {1}, std::vector<std::int32_t>{3}); }),
      "the label of row 4 is 3 (there are 3 classes)");
}

TEST(ImageShards, RefusesStatisticsAndShapesThatNoImagesHave) {
  const ScratchFolder scratch;
  const PrepareResult result = prepare(scratch / "set", 6, 1);
  const auto refused = [&](const std::string& attribute, double value, const std::string& text) {
    const std::string path = scratch / "changed.h5";
    if (world().is_root()) {
      std::filesystem::copy_file(result.files[0], path, std::filesystem::copy_options::overwrite_existing);
      Hdf5File file = Hdf5File::open_update(path);
      std::vector<double> values = file.attribute<std::vector<double>>("/", attribute);
      values.back() = value;
      file.write_attribute("/", attribute, values);
    }
    world().barrier();
    expect_data_error([&] { ImageShards(path, world()); }, text);
    world().barrier();
  };
  refused("std", std::nan(""), "changed.h5: its attribute std is nan for channel 2");
  refused("std", -1, "its attribute std is -1 for channel 2");
  refused("mean", HUGE_VAL, "its attribute mean is inf for channel 2");

  if (world().is_root()) {
    Hdf5File flat = Hdf5File::create(scratch / "flat.h5");
    flat.write_attribute("/", "format", std::string("multicard-images"));
    flat.write_attribute("/", "schema_version", std::int64_t{1});
    flat.create_dataset<std::uint8_t>("/images", {8, 0, 0, 3}, Fill::zero);
    flat.create_dataset<std::int32_t>("/labels", {8}, Fill::zero);
  }
  world().barrier();
  expect_data_error([&] { ImageShards(scratch / "flat.h5", world()); }, "/images has no pixels: 0 x 0 x 3");
}

TEST(ImageShards, NoticesThatAShardIsCutShort) {
  const ScratchFolder scratch;
  const PrepareResult result = prepare(scratch / "set", 2000, 1);
  {
    const ImageShards shards(scratch / "set*.h5", world());
    const ImageShards plain(scratch / "set*.h5", world(), {}, {ReadMethod::pread});
    world().barrier();
    if (world().is_root()) std::filesystem::resize_file(result.files[0], 100000);
    world().barrier();

    for (const ImageShards* cut : {&shards, &plain}) {
      expect_data_error([&] { read(*cut, {1999}); }, "set-00000-of-00001.h5 was truncated");
      expect_data_error([&] { read(*cut, {3, 1200}); }, "was truncated");
    }
  }

  expect_data_error([&] { ImageShards(scratch / "set*.h5", world()); }, "set-00000-of-00001.h5");
}

}  // namespace
}  // namespace multicard
