#include "io/Hdf5.hpp"

#include <cmath>
#include <fstream>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

/// The text of the Error that `body` throws, "" if it throws none.
template <class Body>
std::string error_of(Body&& body, ExitCode code = ExitCode::data) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Element i of a dataset is i; rank r of R owns a block of rows whose size differs by rank, the last rank none.
struct Rows {
  std::uint64_t first, count;
};
Rows rows_of(int rank, int size, std::uint64_t total) {
  if (size == 1) return {0, total};
  if (rank == size - 1) return {total, 0};
  const std::uint64_t each = total / static_cast<std::uint64_t>(size - 1);
  const std::uint64_t first = each * static_cast<std::uint64_t>(rank);
  return {first, rank == size - 2 ? total - first : each};
}

template <class T>
std::vector<T> numbers(std::uint64_t first, std::uint64_t count) {
  std::vector<T> values(count);
  for (std::uint64_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(first + i);
  return values;
}

template <class T>
class Hdf5RoundTrip : public testing::Test {};
using Types = testing::Types<std::uint8_t, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Hdf5RoundTrip, Types, );

TYPED_TEST(Hdf5RoundTrip, KeepsRowsOfUnequalRanksOneOfThemEmpty) {
  const ScratchFolder scratch;
  constexpr std::uint64_t kRows = 23, kColumns = 5;
  const Rows mine = rows_of(world().rank(), world().size(), kRows);
  const auto values = numbers<TypeParam>(mine.first * kColumns, mine.count * kColumns);

  for (const Transfer transfer : {Transfer::collective, Transfer::independent}) {
    Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
    Hdf5Dataset dataset = file.create_dataset<TypeParam>("/deep/er/x", {kRows, kColumns});
    dataset.write<TypeParam>({mine.first, 0}, {mine.count, kColumns}, values, transfer);
    file.close();

    const Hdf5File again = Hdf5File::open_read(scratch / "x.h5", world());
    std::vector<TypeParam> read(mine.count * kColumns);
    again.read_slab<TypeParam>("/deep/er/x", {mine.first, 0}, {mine.count, kColumns}, read, transfer);
    EXPECT_EQ(read, values);
    EXPECT_EQ(again.dims("/deep/er/x"), (Extents{kRows, kColumns}));
    EXPECT_EQ(again.open_dataset("/deep/er/x").type(), element_type<TypeParam>());
    EXPECT_EQ(Hdf5File::open_read(scratch / "x.h5").template read_values<TypeParam>("/deep/er/x"),
              numbers<TypeParam>(0, kRows * kColumns));
  }
}

TEST(Hdf5, KeepsGappedColumnsWrittenTogetherInManyPieces) {
  const ScratchFolder scratch;
  // Every rank owns some columns: between its elements in the file stand those of the others, and a gap at the end.
  const auto size = static_cast<std::uint64_t>(world().size()), rank = static_cast<std::uint64_t>(world().rank());
  constexpr std::uint64_t kRows = 60, kWidth = 7;
  const std::uint64_t columns = size * kWidth + 3;
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world(), {.piece_bytes = 100});
  Hdf5Dataset dataset = file.create_dataset<std::int32_t>("/x", {kRows, columns}, Fill::zero);
  std::vector<std::int32_t> values(kRows * kWidth);
  std::iota(values.begin(), values.end(), static_cast<std::int32_t>(1000 * (rank + 1)));

  dataset.write<std::int32_t>({0, rank * kWidth}, {kRows, kWidth}, values, Transfer::collective);
  file.close();

  const auto all = Hdf5File::open_read(scratch / "x.h5").read_values<std::int32_t>("/x");
  for (std::uint64_t row = 0; row < kRows; ++row)
    for (std::uint64_t column = 0; column < columns; ++column) {
      const std::uint64_t owner = column / kWidth;
      const std::uint64_t expected = owner < size ? 1000 * (owner + 1) + row * kWidth + column % kWidth : 0;
      ASSERT_EQ(static_cast<std::uint64_t>(all[row * columns + column]), expected) << row << ' ' << column;
    }
}

TEST(Hdf5, KeepsWhatAnEarlierWriteLeftBetweenTheGaps) {
  // The first collective write leaves gaps between the columns; the second fills them (docs/hdf5.md).
  const ScratchFolder scratch;
  const auto size = static_cast<std::uint64_t>(world().size()), rank = static_cast<std::uint64_t>(world().rank());
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const std::uint64_t rows = 50 + 37 * round, half = 3 * round;
    const std::uint64_t columns = 2 * half * size;
    Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
    Hdf5Dataset dataset = file.create_dataset<std::int32_t>("/x", {rows, columns});
    for (std::uint64_t pass = 0; pass < 2; ++pass) {
      const std::uint64_t first = (2 * rank + pass) * half;
      std::vector<std::int32_t> values(rows * half);
      for (std::uint64_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int32_t>(i / half * columns + first + i % half);
      dataset.write<std::int32_t>({0, first}, {rows, half}, values, Transfer::collective);
    }
    file.close();

    const auto all = Hdf5File::open_read(scratch / "x.h5").read_values<std::int32_t>("/x");
    ASSERT_EQ(all, numbers<std::int32_t>(0, rows * columns)) << round;
    world().barrier();
  }
}

TEST(Hdf5, CutsUnequalCollectiveTransfersIntoTheSameNumberOfPieces) {
  const ScratchFolder scratch;
  const Rows mine = rows_of(world().rank(), world().size(), 100);
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world(), {.piece_bytes = 64});
  Hdf5Dataset dataset = file.create_dataset<double>("/x", {100, 3});

  dataset.write<double>({mine.first, 0}, {mine.count, 3}, numbers<double>(3 * mine.first, 3 * mine.count),
                        Transfer::collective);
  file.close();

  const Hdf5File again = Hdf5File::open_read(scratch / "x.h5", world(), {.piece_bytes = 16});
  std::vector<double> read(3 * mine.count);
  again.read_slab<double>("/x", {mine.first, 0}, {mine.count, 3}, read, Transfer::collective);
  EXPECT_EQ(read, numbers<double>(3 * mine.first, 3 * mine.count));
}

TEST(Hdf5, KeepsAttributesOfAllTypes) {
  const ScratchFolder scratch;
  const std::string long_text(100'000, 'x');
  const std::map<std::string, Hdf5Value> values{
      {"text", "größe"},
      {"empty", ""},
      {"long", long_text},
      {"lines", "a: 1\nb: 2\n"},
      {"integer", std::int64_t{-5'000'000'000}},
      {"real", 0.1},
      {"texts", std::vector<std::string>{"T-shirt", "", "Hose"}},
      {"integers", std::vector<std::int64_t>{1, 2}},
      {"reals", std::vector<double>{0.5, 1e300, -0.0}},
      {"no texts", std::vector<std::string>{}},
      {"no reals", std::vector<double>{}},
  };
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  file.create_group("/a/b");
  file.create_dataset<float>("/a/x", {1}, Fill::zero);

  for (const auto& [name, value] : values)
    for (const char* object : {"/", "/a/b", "/a/x"})
      file.write_attribute(object, name, value);
  file.write_attribute("/a/b", "integer", 7);
  file.close();

  const Hdf5File again = Hdf5File::open_read(scratch / "x.h5");
  EXPECT_EQ(again.attribute<std::int64_t>("/a/b", "integer"), 7);
  for (const char* object : {"/", "/a/x"}) {
    const auto found = again.attributes(object);
    ASSERT_EQ(found.size(), values.size());
    for (const auto& [name, value] : values)
      EXPECT_EQ(found.at(name), value) << name;
    EXPECT_TRUE(again.attribute<std::vector<double>>(object, "no reals").empty());
    EXPECT_TRUE(again.attribute<std::vector<std::string>>(object, "no texts").empty());
  }
}

TEST(Hdf5, RefusesMissingAndForeignAttributes) {
  const ScratchFolder scratch;
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  file.write_attribute("/", "n", 7);

  EXPECT_TRUE(contains(error_of([&] { file.read_attribute("/", "m"); }), "x.h5 has no attribute m of /"));
  EXPECT_TRUE(
      contains(error_of([&] { file.attribute<std::string>("/", "n"); }), "attribute n of / has an unexpected type"));
  EXPECT_TRUE(contains(error_of([&] { file.write_attribute("/", "t", std::string("a\0b", 3)); }), "NUL"));
  EXPECT_TRUE(file.has_attribute("/", "n"));
  EXPECT_FALSE(file.has_attribute("/", "m"));
}

TEST(Hdf5, KeepsTexts) {
  const ScratchFolder scratch;
  const std::vector<std::string> texts{"OMP_NUM_THREADS=1", "", "ä=ö"};
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  file.write_texts("/g/texts", texts);
  file.write_texts("/none", {});
  file.write_values<std::int64_t>("/g/numbers", {3, 4});
  file.close();

  const Hdf5File again = Hdf5File::open_read(scratch / "x.h5", world());
  EXPECT_EQ(again.read_texts("/g/texts"), texts);
  EXPECT_TRUE(again.read_texts("/none").empty());
  EXPECT_EQ(again.read_values<std::int64_t>("/g/numbers"), (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(contains(error_of([&] { again.read_texts("/g/numbers"); }), "holds int64, text is expected"));
}

TEST(Hdf5, ListsWhatAGroupHolds) {
  const ScratchFolder scratch;
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  file.create_group("/a/group");
  file.create_group("/a/group");
  file.create_dataset<float>("/a/z", {2}, Fill::zero);
  file.create_dataset<float>("/a/group/y", {0});

  EXPECT_EQ(file.children("/a"), (std::vector<std::string>{"group", "z"}));
  EXPECT_EQ(file.datasets_below("/"), (std::vector<std::string>{"a/group/y", "a/z"}));
  EXPECT_TRUE(file.exists("/a/group/y"));
  EXPECT_TRUE(file.exists("/"));
  EXPECT_FALSE(file.exists("/b/group/y"));
  EXPECT_TRUE(file.is_dataset("/a/z"));
  EXPECT_FALSE(file.is_dataset("/a"));
  EXPECT_TRUE(file.open_dataset("/a/group/y").read_all<float>().empty());
}

TEST(Hdf5, FillsWhatIsNeverWritten) {
  const ScratchFolder scratch;
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  file.create_dataset<double>("/nan", {3, 2}, Fill::nan);
  file.create_dataset<float>("/nan32", {2}, Fill::nan);
  file.create_dataset<std::int64_t>("/zero", {4}, Fill::zero);
  EXPECT_TRUE(
      contains(error_of([&] { file.create_dataset<std::int64_t>("/bad", {4}, Fill::nan); }), "int64 cannot be NaN"));
  file.close();

  const Hdf5File again = Hdf5File::open_read(scratch / "x.h5");
  for (const double value : again.read_values<double>("/nan"))
    EXPECT_TRUE(std::isnan(value));
  for (const float value : again.read_values<float>("/nan32"))
    EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(again.read_values<std::int64_t>("/zero"), std::vector<std::int64_t>(4));
}

TEST(Hdf5, ReportsWhereADatasetStandsInTheFile) {
  const ScratchFolder scratch;
  const std::vector<std::uint8_t> bytes{1, 2, 3, 250};
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  file.write_values("/bytes", bytes);
  file.close();

  const auto offset = Hdf5File::open_read(scratch / "x.h5").open_dataset("/bytes").file_offset();
  ASSERT_TRUE(offset);
  std::ifstream raw(scratch / "x.h5", std::ios::binary);
  raw.seekg(static_cast<std::streamoff>(*offset));
  std::vector<std::uint8_t> found(bytes.size());
  raw.read(reinterpret_cast<char*>(found.data()), static_cast<std::streamsize>(found.size()));
  EXPECT_EQ(found, bytes);
}

TEST(Hdf5, RefusesBlocksThatDoNotFitOnAllRanksWhenOneAsks) {
  const ScratchFolder scratch;
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  Hdf5Dataset dataset = file.create_dataset<double>("/x", {4, 2}, Fill::zero);
  std::vector<double> values(2);
  const std::uint64_t row = world().rank() == world().size() - 1 ? 4 : 0;  // one rank asks for a row beyond the end

  const std::string error = error_of([&] { dataset.read<double>({row, 0}, {1, 2}, values, Transfer::collective); });

  EXPECT_TRUE(contains(error, "x.h5: reading /x failed ([4, 0] + [1, 2] reaches beyond its extents [4, 2])")) << error;
  EXPECT_TRUE(contains(error_of([&] { dataset.read<double>({0, 0}, {2, 2}, values); }), "2 values for a block of 4"));
  EXPECT_TRUE(contains(error_of([&] { dataset.read<double>({0}, {2}, values); }), "has 2 dimensions"));
  std::vector<float> floats(2);
  EXPECT_TRUE(contains(error_of([&] { dataset.read<float>({0, 0}, {1, 2}, floats); }), "float64, float32 is expected"));
  // A block whose end exceeds 64 bits
  EXPECT_TRUE(contains(error_of([&] { dataset.read<double>({2, 0}, {~std::uint64_t{0}, 2}, values); }), "beyond"));
}

TEST(Hdf5, NamesFilesThatAreMissingForeignOrCutShort) {
  const ScratchFolder scratch;
  if (world().is_root()) {
    std::ofstream(scratch / "text.h5") << "this is not HDF5, whatever its name says";
    Hdf5File file = Hdf5File::create(scratch / "cut.h5");
    file.create_dataset<double>("/x", {1000}, Fill::zero);
    file.close();
    std::filesystem::resize_file(scratch / "cut.h5", 1500);
  }
  world().barrier();

  for (const Communicator& communicator : {world(), Communicator::null()}) {
    const auto open = [&](const std::string& name) {
      return error_of([&] { Hdf5File::open_read(scratch / name, communicator); });
    };
    EXPECT_TRUE(contains(open("none.h5"), "none.h5 cannot be read (No such file or directory)"));
    EXPECT_TRUE(contains(open(""), "is a folder"));
    EXPECT_TRUE(contains(open("text.h5"), "text.h5: opening failed (")) << open("text.h5");
    EXPECT_TRUE(contains(open("cut.h5"), "cut.h5: opening failed (")) << open("cut.h5");
  }
  EXPECT_TRUE(contains(error_of([&] { Hdf5File::create("/dev/null/x.h5", world()); }), "/dev/null/x.h5"));
}

TEST(Hdf5, NamesObjectsThatAreMissing) {
  const ScratchFolder scratch;
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  file.create_group("/g");

  const std::string missing = error_of([&] { file.open_dataset("/images"); });
  EXPECT_TRUE(contains(missing, "x.h5: opening /images failed (object 'images' doesn't exist)")) << missing;
  EXPECT_NE(error_of([&] { file.open_dataset("/g"); }), "");
  EXPECT_NE(error_of([&] { file.children("/h"); }), "");
}

TEST(Hdf5, EndsDatasetsWithTheirFile) {
  const ScratchFolder scratch;
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  const Hdf5Dataset dataset = file.create_dataset<double>("/x", {4}, Fill::zero);
  file.close();
  file.close();

  EXPECT_TRUE(contains(error_of([&] { dataset.read_all<double>(); }), "x.h5 has been closed"));
}

TEST(Hdf5, IsUsedByTwoThreadsAtOnce) {
  const ScratchFolder scratch;
  constexpr std::uint64_t kRows = 200;
  if (world().is_root()) Hdf5File::create(scratch / "in.h5").write_values("/x", numbers<double>(0, kRows));
  world().barrier();
  const Hdf5File input_file = Hdf5File::open_read(scratch / "in.h5");
  const Hdf5Dataset input = input_file.open_dataset("/x");
  std::uint64_t num_wrong = 0;

  std::thread loader([&] {
    for (std::uint64_t row = 0; row < kRows; ++row) {
      double value = -1;
      input.read<double>({row}, {1}, std::span(&value, 1));
      num_wrong += value != static_cast<double>(row);
    }
  });
  Hdf5File file = Hdf5File::create(scratch / "out.h5", world());
  for (int i = 0; i < 50; ++i)
    file.write_attribute("/", "a" + std::to_string(i), i);
  file.close();
  loader.join();

  EXPECT_EQ(num_wrong, 0U);
  EXPECT_EQ(Hdf5File::open_read(scratch / "out.h5").attributes("/").size(), 50U);
}

TEST(Hdf5, LeavesNoUnusedBlocks) {
  const ScratchFolder scratch;
  Hdf5File file = Hdf5File::create(scratch / "x.h5", world());
  file.write_values<double>("/x", {1, 2});
  file.close();
  world().barrier();

  struct stat status {};
  ASSERT_EQ(stat((scratch / "x.h5").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 64 * 1024);
}

TEST(Hdf5, CopiesObjectsBetweenFiles) {
  const ScratchFolder scratch;
  if (world().is_root()) {
    Hdf5File source = Hdf5File::create(scratch / "source.h5");
    source.write_values<double>("/runs/main/steps/step", {1, 2});
    source.write_attribute("/runs/main", "status", "complete");
    Hdf5File target = Hdf5File::create(scratch / "target.h5");

    target.copy_from(source, "/runs/main", "/runs/0001");

    EXPECT_EQ(target.read_values<double>("/runs/0001/steps/step"), (std::vector<double>{1, 2}));
    EXPECT_EQ(target.attribute<std::string>("/runs/0001", "status"), "complete");
    EXPECT_NE(error_of([&] { target.copy_from(source, "/runs/other", "/runs/0002"); }), "");
  }
}

TEST(Hdf5, ReadsTheAttributesAndTypesOfOtherPrograms) {
  const Hdf5File file = Hdf5File::open_read(test::source_path("tests/data/io/foreign.h5").string());

  EXPECT_EQ(file.attribute<std::string>("/", "variable"), "größe");
  EXPECT_EQ(file.attribute<std::vector<std::string>>("/", "variables"), (std::vector<std::string>{"a", "bcd"}));
  EXPECT_EQ(file.attribute<std::int64_t>("/", "short"), -3);
  EXPECT_EQ(file.attribute<double>("/", "half"), 0.5);
  EXPECT_EQ(file.attributes("/").count("compound"), 0U);
  EXPECT_TRUE(contains(error_of([&] { file.read_attribute("/", "compound"); }), "neither text nor number"));
  EXPECT_EQ(file.read_values<std::int32_t>("/big_endian"), (std::vector<std::int32_t>{1, 2, -3}));
  EXPECT_FALSE(file.open_dataset("/big_endian").file_offset());
  EXPECT_FALSE(file.open_dataset("/chunked").file_offset());
  EXPECT_EQ(file.read_values<double>("/chunked"), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_TRUE(contains(error_of([&] { file.open_dataset("/int16"); }), "element type"));
  EXPECT_TRUE(contains(error_of([&] { file.open_dataset("/scalar"); }), "no dimensions"));
}

}  // namespace
}  // namespace multicard
