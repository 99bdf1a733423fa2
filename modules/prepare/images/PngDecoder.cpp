#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <png.h>

#include "prepare/images/ImageCodec.hpp"
#include "prepare/images/Orientation.hpp"
#include "prepare/images/PngOrientation.hpp"

namespace multicard {

namespace {

// As in JpegDecoder.cpp: libpng demands that the handler does not return.
void leave(png_structp png, png_const_charp text) {
  auto* error = static_cast<LibraryError*>(png_get_error_ptr(png));
  std::snprintf(error->text, sizeof error->text, "%s", text);
  std::longjmp(error->jump, 1);
}

void say_nothing(png_structp, png_const_charp) {}

class PngDecoder final : public ImageDecoder {
 public:
  PngDecoder(const std::string& path, PictureFile file);
  ~PngDecoder() override { png_destroy_read_struct(&png_, &info_, nullptr); }

  ImageShape shape() const override { return upright_shape(shape_, orientation_); }
  Image decode() override;

 private:
  std::string path_;
  PictureFile file_;
  LibraryError error_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  ImageShape shape_;
  int orientation_ = 1;
};

PngDecoder::PngDecoder(const std::string& path, PictureFile file)
    : path_(path),
      file_(std::move(file)),
      png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &error_, leave, say_nothing)),
      info_(png_ ? png_create_info_struct(png_) : nullptr) {
  try {
    if (!info_) throw_damaged(path_, "out of memory");
    // Before libpng reads: eXIf may follow the pixels, and the texts are not kept (below).
    orientation_ = orientation_of_png(file_.get());
    guarded(path_, error_, [&] {
      png_init_io(png_, file_.get());
      // Texts, profiles and the like would be given the memory that they claim.
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
      png_read_info(png_, info_);
      // Everything becomes grey or RGB of 8 bits.
      png_set_palette_to_rgb(png_);
      png_set_expand_gray_1_2_4_to_8(png_);
      png_set_strip_16(png_);  // the upper byte, as Pillow and OpenCV have it
      png_set_strip_alpha(png_);
      png_set_interlace_handling(png_);
    });
    const auto height = png_get_image_height(png_, info_), width = png_get_image_width(png_, info_);
    check_picture_size(path_, height, width);
    // Only now does the library know the number of channels after the conversions that were asked for. The size is
    // checked before, because this call allocates rows.
    guarded(path_, error_, [&] { png_read_update_info(png_, info_); });
    shape_ = {height, width, png_get_channels(png_, info_)};
  } catch (...) {
    png_destroy_read_struct(&png_, &info_, nullptr);
    throw;
  }
}

Image PngDecoder::decode() {
  Image image{shape_, std::vector<std::uint8_t>(static_cast<std::size_t>(shape_.num_bytes()))};
  // All rows at once, as an interlaced picture comes in seven passes over the whole. The vectors live outside of the
  // guarded body, over which an error jumps.
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < shape_.height; ++y)
    rows.push_back(image.pixels.data() + y * shape_.width * shape_.channels);
  guarded(path_, error_, [&] {
    png_read_image(png_, rows.data());
    png_read_end(png_, nullptr);
  });
  return upright(std::move(image), orientation_);
}

}  // namespace

std::unique_ptr<ImageDecoder> make_png_decoder(const std::string& path, PictureFile file) {
  return std::make_unique<PngDecoder>(path, std::move(file));
}

}  // namespace multicard
