// The formats that images come from, and what is said when a file is wrong.
#include <gtest/gtest.h>
#include <zlib.h>

#include "base/Error.hpp"
#include "prepare/images/CifarSource.hpp"
#include "prepare/images/FolderSource.hpp"
#include "prepare/images/IdxSource.hpp"
#include "prepare/images/SyntheticSource.hpp"
#include "support/test_world.hpp"
#include "unit/data/expect_data_error.hpp"
#include "unit/data/test_pictures.hpp"

namespace multicard {
namespace {

using namespace test;

void write_gzip(const std::string& path, const Bytes& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

/// Five 2 x 3 images with labels 0 to 4.
struct SmallIdx {
  ScratchFolder scratch;
  std::string images = scratch / "images", labels = scratch / "labels";
  SmallIdx() {
    write_bytes(images, idx(0x803, {5, 2, 3}, pattern(30)));
    write_bytes(labels, idx(0x801, {5}, {0, 1, 2, 3, 4}));
  }
};

TEST(IdxSource, ReadsPlainAndCompressedFiles) {
  const SmallIdx files;
  write_gzip(files.images + ".gz", read_bytes(files.images));
  write_gzip(files.labels + ".gz", read_bytes(files.labels));

  for (const std::string ending : {"", ".gz"}) {
    const IdxSource source(files.images + ending, files.labels + ending);
    EXPECT_EQ(source.size(), 5);
    EXPECT_EQ(source.common_shape(), (ImageShape{2, 3, 1}));
    EXPECT_EQ(source.class_names(), (std::vector<std::string>{"0", "1", "2", "3", "4"}));
    for (const std::int64_t index : {0, 3, 4, 1}) {
      const Bytes all = pattern(30), want(all.begin() + 6 * index, all.begin() + 6 * index + 6);
      EXPECT_EQ(source.read(index).pixels, want) << ending << index;
      EXPECT_EQ(source.label(index), index);
    }
  }
}

TEST(IdxSource, SaysWhatIsWrongWithAFile) {
  const SmallIdx files;
  write_bytes(files.scratch / "magic", idx(0x804, {5, 2, 3}, pattern(30)));
  write_bytes(files.scratch / "four", idx(0x801, {4}, {0, 1, 2, 3}));
  write_bytes(files.scratch / "short", idx(0x801, {5}, {0, 1, 2}));
  write_bytes(files.scratch / "long", idx(0x801, {5}, {0, 1, 2, 3, 4, 5}));
  write_bytes(files.scratch / "tiny", {0, 0, 8});
  const auto open = [&](const std::string& images, const std::string& labels) {
    return [&, images, labels] { IdxSource(images, labels); };
  };

  expect_data_error(open(files.scratch / "magic", files.labels), "starts with 0x00000804 instead of 0x00000803");
  write_bytes(files.scratch / "float", idx(0xd03, {5, 2, 3}, pattern(120)));
  expect_data_error(open(files.scratch / "magic", files.labels), "4 dimensions of bytes");
  expect_data_error(open(files.scratch / "float", files.labels), "3 dimensions of float32");
  expect_data_error(open(files.labels, files.images), "Swap --images and --labels");
  expect_data_error(open(files.images, files.scratch / "four"), "5 images and 4 labels");
  expect_data_error(open(files.images, files.scratch / "short"), "truncated");
  expect_data_error(open(files.images, files.scratch / "long"), "continues after byte 13");
  expect_data_error(open(files.scratch / "tiny", files.labels), "truncated");
  expect_data_error(open(files.scratch / "none", files.labels), "No such file");
}

TEST(IdxSource, FindsTruncatedImages) {
  const SmallIdx files;
  write_gzip(files.images + ".gz", read_bytes(files.images));
  cut_file(files.images + ".gz", read_bytes(files.images + ".gz").size() - 12);
  cut_file(files.images, 16 + 29);

  const IdxSource plain(files.images, files.labels);

  EXPECT_NO_THROW(plain.read(3));
  expect_data_error([&] { plain.read(4); }, "truncated");
  expect_data_error([&] { IdxSource(files.images + ".gz", files.labels).read(4); }, "truncated");
}

TEST(IdxSource, FindsAChecksumThatIsWrong) {
  const SmallIdx files;
  write_gzip(files.images + ".gz", read_bytes(files.images));
  Bytes bytes = read_bytes(files.images + ".gz");
  bytes[bytes.size() - 6] ^= 1;
  write_bytes(files.images + ".gz", bytes);

  expect_data_error([&] { IdxSource(files.images + ".gz", files.labels).read(4); }, "(incorrect data check)");
}

/// Record i has label `first_label` + i and planes 10i, 10i + 1, 10i + 2.
Bytes cifar_records(int count, int first_label, bool has_coarse_label) {
  Bytes bytes;
  for (int i = 0; i < count; ++i) {
    if (has_coarse_label) bytes.push_back(200);
    bytes.push_back(static_cast<std::uint8_t>(first_label + i));
    for (int plane = 0; plane < 3; ++plane)
      for (int place = 0; place < 1024; ++place)
        bytes.push_back(static_cast<std::uint8_t>(10 * i + plane + place / 32));
  }
  return bytes;
}

TEST(CifarSource, ReadsBothLayouts) {
  const ScratchFolder scratch;
  write_bytes(scratch / "data_batch_1.bin", cifar_records(3, 0, false));
  write_bytes(scratch / "data_batch_2.bin", cifar_records(2, 5, false));
  write_bytes(scratch / "train.bin", cifar_records(4, 90, true));

  const CifarSource ten(cifar_files("", scratch / "data_batch_*.bin")), hundred({scratch / "train.bin"});

  EXPECT_EQ(ten.size(), 5);
  EXPECT_EQ(ten.label(4), 6);
  EXPECT_EQ(ten.class_names().size(), 10u);
  EXPECT_EQ(ten.description(), "cifar-10 (2 files)");
  const Image image = ten.read(4);  // the second record of the second file
  EXPECT_EQ(image.shape, (ImageShape{32, 32, 3}));
  EXPECT_EQ(Bytes(image.pixels.begin(), image.pixels.begin() + 3), (Bytes{10, 11, 12}));
  EXPECT_EQ(Bytes(image.pixels.end() - 3, image.pixels.end()), (Bytes{41, 42, 43}));
  EXPECT_EQ(hundred.label(2), 92);
  EXPECT_EQ(hundred.class_names().size(), 100u);
  EXPECT_EQ(hundred.read(0).pixels[0], 0);
}

TEST(CifarSource, TakesClassNamesFromTheFolderOfTheFiles) {
  const ScratchFolder scratch;
  write_bytes(scratch / "test_batch.bin", cifar_records(1, 0, false));
  std::ofstream(scratch / "batches.meta.txt")
      << "airplane\r\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";

  EXPECT_EQ(CifarSource({scratch / "test_batch.bin"}).class_names()[1], "automobile");

  std::ofstream(scratch / "batches.meta.txt")
      << "\xef\xbb\xbf"
         "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n";
  EXPECT_EQ(CifarSource({scratch / "test_batch.bin"}).class_names()[0], "airplane") << "after a byte order mark";

  std::ofstream(scratch / "batches.meta.txt") << "airplane\nautomobile\n";
  expect_data_error([&] { CifarSource({scratch / "test_batch.bin"}); }, "batches.meta.txt has 2 names (there are 10");
}

TEST(CifarSource, RefusesEmptyFilesAndCopies) {
  const ScratchFolder scratch;
  for (const char* name : {"data_batch_1.bin", "data_batch_1 (1).bin"})
    write_bytes(scratch / name, cifar_records(3, 0, false));
  write_bytes(scratch / "data_batch_2.bin", {});
  expect_data_error([&] { CifarSource(cifar_files("", scratch / "data_batch_1*.bin")); }, "hold the same rows");
  expect_data_error(
      [&] {
        CifarSource({scratch / "data_batch_1.bin", scratch / "data_batch_2.bin"});
      },
      "2.bin is empty");
  write_bytes(scratch / "test_batch", {});
  expect_data_error([&] { cifar_files("", scratch / "*batch*"); }, "is of CIFAR's version for Python");
}

TEST(CifarSource, SaysWhatIsWrong) {
  const ScratchFolder scratch;
  write_bytes(scratch / "data_batch_1.bin", cifar_records(2, 0, false));
  expect_data_error([&] { cifar_files(scratch / "nothing", ""); }, "nothing");
  std::filesystem::create_directories(scratch / "python");
  write_bytes(scratch / "python/data_batch_1", {0x80, 2});
  expect_data_error([&] { cifar_files(scratch / "python", ""); }, "is of CIFAR's version for Python");
  cut_file(scratch / "data_batch_1.bin", 2 * 3073 - 1);
  expect_data_error([&] { CifarSource({scratch / "data_batch_1.bin"}); }, "truncated");
  write_bytes(scratch / "test_batch.bin", cifar_records(1, 0, false));
  expect_data_error([&] { cifar_files(scratch.path().string(), ""); }, "training and test files");
}

TEST(FolderSource, SortsClassesAsNumbersIfAllAreNumbers) {
  const ScratchFolder scratch;
  for (const std::string name : {"10", "9", "2"}) {
    std::filesystem::create_directories(scratch / name);
    write_png(scratch / (name + "/b.PNG"), Image{{1, 1, 1}, {static_cast<std::uint8_t>(std::stoi(name))}});
    write_jpeg(scratch / (name + "/a.JpEg"), corner_picture(8, 8, 1), JCS_GRAYSCALE);
    write_bytes(scratch / (name + "/notes.txt"), {'x'});
    write_bytes(scratch / (name + "/.hidden.png"), {'x'});
  }

  const FolderSource source(scratch.path().string() + "/", Communicator::null());

  EXPECT_EQ(source.class_names(), (std::vector<std::string>{"2", "9", "10"}));
  EXPECT_EQ(source.size(), 6);
  EXPECT_EQ(source.name_of(4), scratch.path().string() + "/10/a.JpEg");
  EXPECT_EQ(source.label(4), 2);
  EXPECT_EQ(source.read(5).pixels, Bytes{10});
  EXPECT_EQ(source.shape_of(4), (ImageShape{8, 8, 1}));
  EXPECT_EQ(source.description(), "folder " + scratch.path().filename().string());
}

TEST(FolderSource, SortsOtherClassesByName) {
  const ScratchFolder scratch;
  for (const std::string name : {"cat", "10", "Dog"}) {
    std::filesystem::create_directories(scratch / name);
    write_png(scratch / (name + "/1.png"), Image{{1, 1, 1}, {1}});
  }

  EXPECT_EQ(FolderSource(scratch.path().string(), Communicator::null()).class_names(),
            (std::vector<std::string>{"10", "Dog", "cat"}));
}

TEST(FolderSource, WantsPicturesInEveryClass) {
  const ScratchFolder scratch;
  const auto open = [&] { FolderSource(scratch.path().string(), Communicator::null()); };
  expect_data_error(open, "holds no folders");
  std::filesystem::create_directories(scratch / "cat");
  expect_data_error(open, "cat holds no pictures");
  expect_data_error([&] { FolderSource(scratch / "none", Communicator::null()); }, "No such file");
}

TEST(SyntheticSource, MakesTheSameImagesEveryTime) {
  const SyntheticSource source(100, 4, 16);

  EXPECT_EQ(source.label(6), 2);
  EXPECT_EQ(source.read(6).pixels, SyntheticSource(10, 4, 16).read(6).pixels);
  EXPECT_NE(source.read(6).pixels, source.read(2).pixels);
  EXPECT_EQ(source.read(6).shape, (ImageShape{16, 16, 3}));
}

/// Squared distance between images.
double distance(const Image& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    sum += (a.pixels[i] - b[i]) * (a.pixels[i] - b[i]);
  return sum;
}

TEST(SyntheticSource, MakesClassesThatCanBeToldApart) {
  constexpr int kClasses = 5;
  const SyntheticSource source(200, kClasses, 12);
  std::vector<std::vector<double>> means(kClasses, std::vector<double>(12 * 12 * 3));
  for (std::int64_t i = 0; i < 100; ++i) {
    const Image image = source.read(i);
    for (std::size_t p = 0; p < image.pixels.size(); ++p)
      means[static_cast<std::size_t>(i % kClasses)][p] += image.pixels[p] / 20.0;
  }

  int right = 0;
  for (std::int64_t i = 100; i < 200; ++i) {
    const Image image = source.read(i);
    std::size_t nearest = 0;
    for (std::size_t c = 1; c < kClasses; ++c)
      if (distance(image, means[c]) < distance(image, means[nearest])) nearest = c;
    right += static_cast<std::int64_t>(nearest) == source.label(i);
  }

  EXPECT_GE(right, 99);
}

}  // namespace
}  // namespace multicard
