#pragma once
// JPEG and PNG files made by the libraries, as tests need them.

#include <cstdio>
#include <string>
#include <vector>

#include <jpeglib.h>
#include <png.h>

#include "prepare/images/Image.hpp"
#include "unit/data/test_files.hpp"

namespace multicard::test {

/// An asymmetric picture, dark to bright from left to right, with a bright block in its upper left corner.
inline Image corner_picture(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Image image{{height, width, channels}, {}};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t c = 0; c < channels; ++c)
        image.pixels.push_back(y < height / 2 && x < width / 3 ? 250 : static_cast<std::uint8_t>(20 + 100 * x / width));
  return image;
}

/// The types that a whole number has in EXIF.
enum class ExifType { byte = 1, two_bytes = 3, four_bytes = 4 };

/// A little-endian (II) or big-endian (MM) EXIF block with one entry before the orientation.
inline Bytes exif_block(int orientation, bool is_little, ExifType type = ExifType::two_bytes) {
  const int num_bytes = type == ExifType::byte ? 1 : type == ExifType::two_bytes ? 2 : 4;
  Bytes bytes = {'E', 'x', 'i', 'f', 0, 0};
  const auto add = [&](std::uint32_t number, int count) {
    for (int i = 0; i < count; ++i)
      bytes.push_back(static_cast<std::uint8_t>(number >> 8 * (is_little ? i : count - 1 - i)));
  };
  bytes.insert(bytes.end(), 2, is_little ? 'I' : 'M');
  add(42, 2);
  add(8, 4);       // the directory follows
  add(2, 2);       // entries
  add(0x0100, 2);  // ImageWidth
  add(3, 2);
  add(1, 4);
  add(99, 2);
  add(0, 2);
  add(0x0112, 2);  // Orientation
  add(static_cast<std::uint32_t>(type), 2);
  add(1, 4);
  add(static_cast<std::uint32_t>(orientation), num_bytes);
  add(0, 4 - num_bytes);
  add(0, 4);
  return bytes;
}

/// `space` is JCS_GRAYSCALE, JCS_RGB or JCS_CMYK, with 1, 3 or 4 channels.
inline void write_jpeg(const std::string& path, const Image& image, J_COLOR_SPACE space, const Bytes& app1 = {}) {
  jpeg_error_mgr errors;
  jpeg_compress_struct info;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  jpeg_stdio_dest(&info, file);
  info.image_height = static_cast<JDIMENSION>(image.shape.height);
  info.image_width = static_cast<JDIMENSION>(image.shape.width);
  info.input_components = static_cast<int>(image.shape.channels);
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  if (!app1.empty()) jpeg_write_marker(&info, JPEG_APP0 + 1, app1.data(), static_cast<unsigned>(app1.size()));
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(image.pixels.data()) +
                   info.next_scanline * static_cast<std::size_t>(image.shape.width * image.shape.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::fclose(file);
}

/// The rows as the PNG stores them; with `palette` pixels are places in it.
struct PngContent {
  png_uint_32 height, width;
  int color_type, bit_depth;
  std::vector<Bytes> rows;
  std::vector<png_color> palette = {};
  int interlace = PNG_INTERLACE_NONE;
  Bytes exif_before = {}, exif_after = {};  // the pixels
  std::string text_chunk = {}, text = {};   // before the pixels
};

inline void write_png(const std::string& path, PngContent content) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, content.width, content.height, content.bit_depth, content.color_type, content.interlace,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!content.palette.empty())
    png_set_PLTE(png, info, content.palette.data(), static_cast<int>(content.palette.size()));
  std::vector<png_bytep> rows;
  for (Bytes& row : content.rows)
    rows.push_back(row.data());
  const auto write_exif = [png](const Bytes& exif) {
    if (!exif.empty()) png_write_chunk(png, reinterpret_cast<png_const_bytep>("eXIf"), exif.data(), exif.size());
  };
  png_write_info(png, info);
  if (!content.text.empty())
    png_write_chunk(png, reinterpret_cast<png_const_bytep>(content.text_chunk.data()),
                    reinterpret_cast<png_const_bytep>(content.text.data()), content.text.size());
  write_exif(content.exif_before);
  png_write_image(png, rows.data());
  write_exif(content.exif_after);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

inline void write_png(const std::string& path, const Image& image) {
  PngContent content{static_cast<png_uint_32>(image.shape.height),
                     static_cast<png_uint_32>(image.shape.width),
                     image.shape.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                     8,
                     {}};
  const std::int64_t row_bytes = image.shape.width * image.shape.channels;
  for (std::int64_t y = 0; y < image.shape.height; ++y)
    content.rows.emplace_back(image.pixels.begin() + y * row_bytes, image.pixels.begin() + (y + 1) * row_bytes);
  write_png(path, std::move(content));
}

}  // namespace multicard::test
