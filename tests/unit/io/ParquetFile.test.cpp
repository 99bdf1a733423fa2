#include "io/ParquetFile.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using nlohmann::json;

class Parquet : public testing::Test {
 protected:
  void SetUp() override {
    if (!ParquetFile::is_supported()) GTEST_SKIP() << "built without libparquet (scripts/setup.sh --parquet)";
  }
  static std::string data(const std::string& name) { return test::source_path("tests/data/parquet/" + name); }
};

TEST_F(Parquet, RowsAreObjectsWithWhatTheFileNests) {
  ParquetFile file(data("chat.parquet"));

  EXPECT_EQ(file.num_rows(), 7);
  EXPECT_EQ(file.groups().size(), 3U);
  EXPECT_EQ(file.groups()[2].first, 6);
  const json expected = {{"id", 1},
                         {"messages",
                          {{{"role", "user"}, {"content", "Question 1: naïve 中?"}, {"weight", nullptr}},
                           {{"role", "assistant"}, {"content", "Answer 1."}, {"weight", nullptr}}}},
                         {"system", "Be brief."},
                         {"score", nullptr}};
  EXPECT_EQ(json::parse(file.row(1)), expected);
}

TEST_F(Parquet, RowsCanBeReadInAnyOrder) {
  ParquetFile file(data("chat.parquet"));
  for (const std::int64_t row : {6, 0, 4, 3, 5, 2, 1, 1})
    EXPECT_EQ(json::parse(file.row(row))["id"], row);
}

TEST_F(Parquet, ValuesOfAllKindsHaveTheirJson) {
  const json row = json::parse(ParquetFile(data("kinds.parquet")).row(0));

  EXPECT_EQ(row["bool"], true);
  EXPECT_EQ(row["list"], json({1, 2}));
  EXPECT_EQ(row["float"], 0.5);
  EXPECT_EQ(row["date"], "2022-01-08");
  EXPECT_EQ(row["bytes"], json({{"num_bytes", 3}}));
  EXPECT_EQ(row["big"].get<std::uint64_t>(), ~std::uint64_t{0});
  EXPECT_EQ(row["none"], nullptr);
}

TEST_F(Parquet, ImagesAndLabelsAreFoundByTheirKinds) {
  ParquetFile file(data("images.parquet"));

  ASSERT_EQ(file.columns().size(), 3U);
  EXPECT_EQ(file.columns()[0].name, "img");
  EXPECT_EQ(file.columns()[0].kind, ParquetKind::image);
  EXPECT_EQ(file.columns()[1].kind, ParquetKind::integer);
  EXPECT_EQ(file.integers("label"), (std::vector<std::int64_t>{0, 1, 0, 1, 0}));
  EXPECT_TRUE(file.bytes(4, "img").starts_with("\x89PNG"));
  EXPECT_NE(file.metadata("huggingface").find("ClassLabel"), std::string::npos);
  EXPECT_EQ(file.metadata("none"), "");
  EXPECT_THROW(file.bytes(0, "label"), DataError);
  EXPECT_THROW(file.integers("lable"), DataError);
}

TEST_F(Parquet, WhatIsNoUtf8OrDamagedIsRefused) {
  EXPECT_THROW(ParquetFile(data("latin1.parquet")).row(0), DataError);
  EXPECT_THROW(ParquetFile(data("none.parquet")), DataError);
  const test::ScratchFolder scratch;
  const std::string whole = read_file(data("chat.parquet"));
  write_file(scratch / "short.parquet", whole.substr(0, whole.size() / 2));
  EXPECT_THROW(ParquetFile(scratch / "short.parquet"), DataError);
}

TEST_F(Parquet, AnyDamagedByteIsAnErrorOrChangesValuesAlone) {
  const test::ScratchFolder scratch;
  const std::string whole = read_file(data("chat.parquet"));
  int num_refused = 0;
  for (std::size_t at = 4; at < whole.size(); at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    write_file(scratch / "damaged.parquet", damaged);
    try {
      ParquetFile file(scratch / "damaged.parquet");
      for (std::int64_t row = 0; row < std::min<std::int64_t>(file.num_rows(), 100); ++row)
        static_cast<void>(file.row(row));
    } catch (const DataError&) {
      ++num_refused;
    }
  }
  EXPECT_GT(num_refused, 100);
}

}  // namespace
}  // namespace multicard
