#include "prepare/images/ImageFile.hpp"

#include <cstdlib>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "prepare/images/Orientation.hpp"
#include "support/test_world.hpp"
#include "unit/data/test_pictures.hpp"

namespace multicard {
namespace {

using namespace test;

int pixel(const Image& image, std::int64_t y, std::int64_t x, std::int64_t channel = 0) {
  return image.pixels[static_cast<std::size_t>((y * image.shape.width + x) * image.shape.channels + channel)];
}

void expect_near(const Image& got, const Image& want, int tolerance) {
  ASSERT_EQ(got.shape, want.shape);
  for (std::size_t i = 0; i < want.pixels.size(); ++i)
    ASSERT_NEAR(got.pixels[i], want.pixels[i], tolerance) << i;
}

void expect_bad(const std::string& path, const std::string& why) {
  try {
    read_image_file(path);
    ADD_FAILURE() << path << " was read";
  } catch (const DataError& error) {
    EXPECT_NE(error.problem().find(path), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(ImageFile, ReadsGreyAndColourJpegs) {
  const ScratchFolder scratch;
  const Image grey = corner_picture(24, 40, 1), colour = corner_picture(24, 40, 3);
  write_jpeg(scratch / "grey.jpg", grey, JCS_GRAYSCALE);
  write_jpeg(scratch / "colour.jpg", colour, JCS_RGB);

  expect_near(read_image_file(scratch / "grey.jpg"), grey, 6);
  expect_near(read_image_file(scratch / "colour.jpg"), colour, 12);
  EXPECT_EQ(shape_of_image_file(scratch / "grey.jpg"), (ImageShape{24, 40, 1}));
}

/// Where the bright block of a 24 x 48 picture, stored in its upper left corner, belongs (EXIF's table: what the stored
/// first row and first column are), as row and column of the upright picture's quarter.
struct Turned {
  std::int64_t orientation, height, width;
  bool at_bottom, at_right;
};

TEST(ImageFile, TurnsPicturesUpright) {
  const ScratchFolder scratch;
  const Turned cases[] = {{1, 24, 48, false, false}, {2, 24, 48, false, true},  {3, 24, 48, true, true},
                          {4, 24, 48, true, false},  {5, 48, 24, false, false}, {6, 48, 24, false, true},
                          {7, 48, 24, true, true},   {8, 48, 24, true, false}};
  for (const Turned& turned : cases)
    for (const bool is_little : {true, false}) {
      const std::string path = scratch / ("turned" + std::to_string(turned.orientation) + ".jpg");
      write_jpeg(path, corner_picture(24, 48, 3), JCS_RGB, exif_block(static_cast<int>(turned.orientation), is_little));

      const Image image = read_image_file(path);

      EXPECT_EQ(image.shape, (ImageShape{turned.height, turned.width, 3})) << turned.orientation;
      EXPECT_EQ(shape_of_image_file(path), image.shape);
      const std::int64_t y = turned.at_bottom ? turned.height - 4 : 3, x = turned.at_right ? turned.width - 4 : 3;
      EXPECT_GT(pixel(image, y, x), 200) << turned.orientation;
      EXPECT_LT(pixel(image, turned.height - 1 - y, x), 150) << turned.orientation;
      EXPECT_LT(pixel(image, y, turned.width - 1 - x), 150) << turned.orientation;
      EXPECT_LT(pixel(image, turned.height - 1 - y, turned.width - 1 - x), 150) << turned.orientation;
    }
}

TEST(ImageFile, ReadsOrientationsOfEveryTypeAndByteOrder) {
  for (const ExifType type : {ExifType::byte, ExifType::two_bytes, ExifType::four_bytes})
    for (const bool is_little : {true, false}) {
      const Bytes block = exif_block(6, is_little, type);
      EXPECT_EQ(orientation_of_exif(std::span(block).subspan(6)), 6) << static_cast<int>(type) << is_little;
    }
}

/// A block with one entry, whose value stands in the entry or at byte 26.
Bytes big_endian_exif(std::uint8_t type, const Bytes& in_entry, const Bytes& elsewhere = {}) {
  Bytes block{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, type, 0, 0, 0, 1};
  block.insert(block.end(), in_entry.begin(), in_entry.end());
  block.insert(block.end(), {0, 0, 0, 0});
  block.insert(block.end(), elsewhere.begin(), elsewhere.end());
  return block;
}

TEST(ImageFile, ReadsOrientationsThatAreNumbersOfAnyType) {
  const Bytes elsewhere{0, 0, 0, 26};
  EXPECT_EQ(orientation_of_exif(big_endian_exif(13, {0, 0, 0, 6})), 6) << "IFD";
  EXPECT_EQ(orientation_of_exif(big_endian_exif(11, {0x40, 0xc0, 0, 0})), 6) << "FLOAT";
  EXPECT_EQ(orientation_of_exif(big_endian_exif(12, elsewhere, {0x40, 0x18, 0, 0, 0, 0, 0, 0})), 6) << "DOUBLE";
  EXPECT_EQ(orientation_of_exif(big_endian_exif(5, elsewhere, {0, 0, 0, 12, 0, 0, 0, 2})), 6) << "RATIONAL";
  EXPECT_EQ(orientation_of_exif(big_endian_exif(16, elsewhere, {0, 0, 0, 0, 0, 0, 0, 6})), 6) << "LONG8";
  EXPECT_EQ(orientation_of_exif(big_endian_exif(5, elsewhere, {0, 0, 0, 13, 0, 0, 0, 2})), 1) << "6.5";
  EXPECT_EQ(orientation_of_exif(big_endian_exif(5, elsewhere, {0, 0, 0, 6, 0, 0, 0, 0})), 1) << "6 / 0";
  EXPECT_EQ(orientation_of_exif(big_endian_exif(2, {'6', 0, 0, 0})), 1) << "a text";
}

TEST(ImageFile, ReadsExifOfCamerasThatMixItsMarks) {
  Bytes swapped = big_endian_exif(3, {0, 6, 0, 0});
  std::swap(swapped[2], swapped[3]);
  EXPECT_EQ(orientation_of_exif(swapped), 6);
  Bytes twice{'E', 'x', 'i', 'f', 0, 0};
  const Bytes block = big_endian_exif(3, {0, 6, 0, 0});
  twice.insert(twice.end(), block.begin(), block.end());
  EXPECT_EQ(orientation_of_exif(twice), 6);
  Bytes none = block;
  none[17] = 0;  // count
  EXPECT_EQ(orientation_of_exif(none), std::nullopt);
}

TEST(ImageFile, TurnsPngsWithExifBeforeOrAfterThePixels) {
  const ScratchFolder scratch;
  const std::string path = scratch / "turned.png";
  const Bytes block = exif_block(6, false), exif(block.begin() + 6, block.end());
  const PngContent plain{2, 3, PNG_COLOR_TYPE_GRAY, 8, {{0, 1, 2}, {3, 4, 5}}};
  PngContent before = plain, after = plain;
  before.exif_before = after.exif_after = exif;
  for (const PngContent& content : {before, after}) {
    write_png(path, content);

    const Image image = read_image_file(path);

    EXPECT_EQ(shape_of_image_file(path), (ImageShape{3, 2, 1}));
    EXPECT_EQ(image.shape, (ImageShape{3, 2, 1}));
    EXPECT_EQ(image.pixels, (Bytes{3, 0, 4, 1, 5, 2}));
  }
}

const std::string kXmp = R"(<rdf:Description tiff:OrientationX="3" tiff:Orientation="6" />)";

TEST(ImageFile, ReadsOrientationsOfXmp) {
  EXPECT_EQ(orientation_of_xmp(kXmp), 6);
  EXPECT_EQ(orientation_of_xmp("<tiff:Orientation>8</tiff:Orientation>"), 8);
  EXPECT_EQ(orientation_of_xmp("tiff:Orientation=\"9\""), 1);
  EXPECT_EQ(orientation_of_xmp("tiff:Orientation='6' tiff:Orientation"), std::nullopt);
}

TEST(ImageFile, TurnsJpegsByXmpUnlessExifNamesAnOrientation) {
  const ScratchFolder scratch;
  const std::string path = scratch / "turned.jpg", packet = std::string("http://ns.adobe.com/xap/1.0/\0", 29) + kXmp;
  write_jpeg(path, corner_picture(24, 48, 3), JCS_RGB, Bytes(packet.begin(), packet.end()));

  EXPECT_EQ(shape_of_image_file(path), (ImageShape{48, 24, 3}));
}

TEST(ImageFile, TurnsPngsByTheirTexts) {
  const ScratchFolder scratch;
  const std::string path = scratch / "turned.png";
  const Bytes exif = exif_block(6, false);
  std::string profile = std::string("Raw profile type exif\0", 22) + "\nexif\n      44\n";
  for (const std::uint8_t byte : exif)
    profile += fmt::format("{:02x}", byte);
  const std::string xmp = std::string("XML:com.adobe.xmp\0\0\0\0\0", 22) + kXmp;
  const PngContent plain{2, 3, PNG_COLOR_TYPE_GRAY, 8, {{0, 1, 2}, {3, 4, 5}}};
  for (const auto& [name, text] : {std::pair{"tEXt", profile}, {"iTXt", xmp}, {"tEXt", profile.substr(0, 40)}}) {
    PngContent content = plain;
    content.text_chunk = name;
    content.text = text;
    write_png(path, content);

    EXPECT_EQ(shape_of_image_file(path), (text.size() == 40 ? ImageShape{2, 3, 1} : ImageShape{3, 2, 1})) << name;
  }
}

TEST(ImageFile, TurnsEveryPixelToItsPlace) {
  // 2 x 3: 0 1 2 / 3 4 5, with every orientation as Pillow's ImageOps.exif_transpose gives it.
  const Image stored{{2, 3, 1}, {0, 1, 2, 3, 4, 5}};
  const std::vector<Bytes> wanted = {{0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0}, {3, 4, 5, 0, 1, 2},
                                     {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2}, {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3}};

  for (int orientation = 1; orientation <= 8; ++orientation)
    EXPECT_EQ(upright(stored, orientation).pixels, wanted[static_cast<std::size_t>(orientation) - 1]) << orientation;
}

TEST(ImageFile, TakesDamagedExifForNone) {
  const Bytes whole = exif_block(6, true);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    Bytes part(whole.begin() + 6, whole.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(6, length)));
    const int found = orientation_of_exif(part).value_or(1);
    EXPECT_TRUE(found == 1 || found == 6) << length;
  }
  Bytes far = exif_block(6, true);
  far[10] = far[11] = far[12] = far[13] = 0xff;  // a directory beyond the end

  EXPECT_EQ(orientation_of_exif(std::span(far).subspan(6)), std::nullopt);
  Bytes mixed = exif_block(6, true);
  mixed[7] = 'M';  // neither byte order
  EXPECT_EQ(orientation_of_exif(std::span(mixed).subspan(6)), std::nullopt);
  const Bytes unknown = exif_block(9, true);
  EXPECT_EQ(orientation_of_exif(std::span(unknown).subspan(6)), 1);
}

TEST(ImageFile, ConvertsInksToColours) {
  const ScratchFolder scratch;
  // Inverted, as Adobe's programs store them: full cyan, half black.
  Image inks{{16, 16, 4}, {}};
  for (int i = 0; i < 16 * 16; ++i)
    inks.pixels.insert(inks.pixels.end(), {0, 255, 255, 128});
  write_jpeg(scratch / "cmyk.jpg", inks, JCS_CMYK);

  const Image image = read_image_file(scratch / "cmyk.jpg");

  EXPECT_EQ(image.shape, (ImageShape{16, 16, 3}));
  EXPECT_NEAR(pixel(image, 8, 8, 0), 0, 2);
  EXPECT_NEAR(pixel(image, 8, 8, 1), 128, 2);
  EXPECT_NEAR(pixel(image, 8, 8, 2), 128, 2);
}

TEST(ImageFile, ReadsEveryKindOfPng) {
  const ScratchFolder scratch;
  const Bytes bits = {0b10100000}, words = {10, 200, 200, 255, 30, 0};
  write_png(scratch / "grey1.png", {1, 3, PNG_COLOR_TYPE_GRAY, 1, {bits}});
  write_png(scratch / "grey16.png", {1, 3, PNG_COLOR_TYPE_GRAY, 16, {words}});
  write_png(scratch / "rgb.png", {1, 2, PNG_COLOR_TYPE_RGB, 8, {{1, 2, 3, 4, 5, 6}}});
  write_png(scratch / "rgba.png", {1, 2, PNG_COLOR_TYPE_RGBA, 8, {{1, 2, 3, 0, 4, 5, 6, 128}}});
  write_png(scratch / "greyalpha.png", {1, 2, PNG_COLOR_TYPE_GRAY_ALPHA, 8, {{7, 0, 8, 255}}});
  write_png(scratch / "palette.png", {1, 3, PNG_COLOR_TYPE_PALETTE, 8, {{1, 0, 1}}, {{9, 8, 7}, {6, 5, 4}}});
  write_png(scratch / "interlaced.png",
            {3, 2, PNG_COLOR_TYPE_GRAY, 8, {{1, 2}, {3, 4}, {5, 6}}, {}, PNG_INTERLACE_ADAM7});

  EXPECT_EQ(read_image_file(scratch / "grey1.png").pixels, (Bytes{255, 0, 255}));
  EXPECT_EQ(read_image_file(scratch / "grey16.png").pixels, (Bytes{10, 200, 30}));
  EXPECT_EQ(read_image_file(scratch / "rgb.png").pixels, (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read_image_file(scratch / "rgba.png").pixels, (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read_image_file(scratch / "greyalpha.png").pixels, (Bytes{7, 8}));
  EXPECT_EQ(read_image_file(scratch / "palette.png").pixels, (Bytes{6, 5, 4, 9, 8, 7, 6, 5, 4}));
  EXPECT_EQ(read_image_file(scratch / "interlaced.png").pixels, (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(shape_of_image_file(scratch / "palette.png"), (ImageShape{1, 3, 3}));
}

TEST(ImageFile, SaysWhichFileIsDamaged) {
  const ScratchFolder scratch;
  write_jpeg(scratch / "cut.jpg", corner_picture(64, 64, 3), JCS_RGB);
  cut_file(scratch / "cut.jpg", 2 * read_bytes(scratch / "cut.jpg").size() / 3);
  write_png(scratch / "cut.png", Image{{40, 40, 3}, pattern(40 * 40 * 3)});
  cut_file(scratch / "cut.png", 300);
  write_bytes(scratch / "head.jpg", {0xff, 0xd8, 0xff});
  write_bytes(scratch / "text.jpg", {'h', 'e', 'l', 'l', 'o'});
  write_bytes(scratch / "empty.png", {});

  expect_bad(scratch / "cut.jpg", "remature end");
  expect_bad(scratch / "cut.png", "cannot be decoded");
  expect_bad(scratch / "head.jpg", "cannot be decoded");
  expect_bad(scratch / "text.jpg", "neither a JPEG nor a PNG");
  expect_bad(scratch / "empty.png", "it is empty");
  expect_bad(scratch / "none.jpg", "No such file");
  expect_bad(scratch.path().string(), "it is a folder");
}

TEST(ImageFile, IsNotStoppedByDamageInUnimportantPlaces) {
  const ScratchFolder scratch;
  const Image picture = corner_picture(32, 32, 3);
  write_jpeg(scratch / "trailing.jpg", picture, JCS_RGB);
  Bytes bytes = read_bytes(scratch / "trailing.jpg");
  bytes.insert(bytes.end() - 2, {0, 0, 0});  // extraneous bytes before the end marker
  write_bytes(scratch / "trailing.jpg", bytes);

  expect_near(read_image_file(scratch / "trailing.jpg"), picture, 12);
}

TEST(ImageFile, RefusesAbsurdSizes) {
  const ScratchFolder scratch;
  write_png(scratch / "huge.png", Image{{2, 2, 1}, {1, 2, 3, 4}});
  Bytes bytes = read_bytes(scratch / "huge.png");
  // Width and height stand after the signature and the name of the first chunk; its checksum would be wrong anyway.
  bytes[16] = bytes[20] = 0x40;
  write_bytes(scratch / "huge.png", bytes);

  expect_bad(scratch / "huge.png", "cannot be decoded");
}

}  // namespace
}  // namespace multicard
