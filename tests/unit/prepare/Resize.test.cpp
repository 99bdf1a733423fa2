#include "prepare/images/Resize.hpp"

#include <gtest/gtest.h>

#include "unit/data/test_files.hpp"

namespace multicard {
namespace {

using test::Bytes;
using test::pattern;

TEST(Resize, ShrinksColoursAsPillowDoes) {
  const Image image{{7, 9, 3}, pattern(7 * 9 * 3)};

  const Image small = resized(image, 4);

  // Pillow 12: Image.frombytes("RGB", (9, 7), pattern).resize((4, 4), Image.BILINEAR)
  EXPECT_EQ(small.shape, (ImageShape{4, 4, 3}));
  EXPECT_EQ(small.pixels, (Bytes{104, 111, 118, 120, 81,  88,  87,  91,  95,  118, 125, 130, 134, 141, 148, 164,
                                 150, 157, 165, 171, 142, 110, 117, 97,  111, 118, 76,  92,  99,  106, 103, 110,
                                 117, 144, 151, 158, 154, 161, 164, 166, 173, 180, 124, 131, 138, 67,  74,  81}));
}

TEST(Resize, EnlargesGreyAsPillowDoes) {
  const Image image{{5, 3, 1}, pattern(15)};

  const Image large = resized(image, 7);

  EXPECT_EQ(large.shape, (ImageShape{7, 7, 1}));
  EXPECT_EQ(large.pixels,
            (Bytes{0,  1,  4,  7,  10, 13, 14, 12, 13, 16, 19, 22, 25, 26, 27, 28, 31, 34, 37, 40, 41, 42, 43, 46, 49,
                   52, 55, 56, 57, 58, 61, 64, 67, 70, 71, 72, 73, 76, 79, 82, 85, 86, 84, 85, 88, 91, 94, 97, 98}));
}

TEST(Resize, LeavesTheRightSizeAlone) {
  const Image image{{5, 5, 3}, pattern(75)};

  EXPECT_EQ(resized(image, 5).pixels, image.pixels);
}

TEST(Resize, KeepsOneColourOneColour) {
  const Image image{{101, 37, 3}, Bytes(101 * 37 * 3, 255)};

  for (const std::int64_t size : {1, 10, 64, 150})
    EXPECT_EQ(resized(image, size).pixels, Bytes(static_cast<std::size_t>(size * size * 3), 255)) << size;
}

}  // namespace
}  // namespace multicard
