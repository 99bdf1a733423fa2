#include "io/FileRanges.hpp"

#include <fstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Sha256.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

TEST(FileRanges, AreNamedAsInHttp) {
  const ByteRanges ranges{{0, 1024}, {4096, 4097}, {4097, 5000}};

  EXPECT_EQ(ranges_text(ranges), "0-1023,4096-4096,4097-4999");
  EXPECT_EQ(ranges_in(ranges_text(ranges)), ranges);
}

TEST(FileRanges, AnotherTextNamesNone) {
  for (const char* text : {"", "-", "1", "1-", "-1", "5-4", "0-3,", ",0-3", "0-3,2-5", "4-5,0-1", "0-3 ", " 0-3",
                           "+1-3", "0x1-3", "0-3;5-6", "0-18446744073709551615", "0-99999999999999999999"})
    EXPECT_EQ(ranges_in(text), std::nullopt) << text;
}

TEST(FileRanges, CoverAFileWhenEachByteIsInOne) {
  EXPECT_TRUE(cover({}, 0));
  EXPECT_TRUE(cover({{4, 9}, {0, 4}, {9, 10}}, 10));
  EXPECT_FALSE(cover({{4, 9}, {0, 4}}, 10)) << "the last byte";
  EXPECT_FALSE(cover({{0, 4}, {5, 10}}, 10)) << "a hole";
  EXPECT_FALSE(cover({{0, 5}, {4, 10}}, 10)) << "twice";
  EXPECT_FALSE(cover({{0, 11}}, 10)) << "beyond the end";
}

TEST(FileRanges, AreWrittenByTurnsAndHashed) {
  const ScratchFolder scratch;
  const std::string path = scratch / "file", text = "abcdefghij";
  std::ofstream(path) << "..........";
  RangeWriter one(path), other(path);

  one.write(0, "ab");
  other.write(2, "c");
  one.write(3, "de");
  one.write(5, "f");
  one.write(7, "");
  other.write(6, "ghij");
  const WrittenRanges first = one.finish(), second = other.finish();

  EXPECT_EQ(read_file(path), text);
  EXPECT_EQ(first.ranges, (ByteRanges{{0, 2}, {3, 6}})) << "those that touch are one";
  EXPECT_EQ(first.sha256, sha256("abdef"));
  EXPECT_EQ(second.sha256, sha256("cghij"));
  EXPECT_EQ(sha256_of_ranges(path, first.ranges), first.sha256);
  EXPECT_THROW(sha256_of_ranges(path, {{8, 11}}), DataError);
}

TEST(FileRanges, RiseAndAreOfAFileThatIsThere) {
  const ScratchFolder scratch;
  std::ofstream(scratch / "file") << "..........";
  RangeWriter writer(scratch / "file");
  writer.write(4, "ab");

  EXPECT_THROW(writer.write(5, "c"), std::logic_error);
  EXPECT_THROW(RangeWriter(scratch / "none"), DataError);
}

}  // namespace
}  // namespace multicard
