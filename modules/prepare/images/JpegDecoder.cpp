#include <optional>
#include <string_view>

// jpeglib.h uses FILE and size_t without including what declares them.
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>
// After jpeglib.h, whose types it uses.
#include <jerror.h>

#include "prepare/images/ImageCodec.hpp"
#include "prepare/images/Orientation.hpp"

namespace multicard {

namespace {

struct JpegErrors {
  jpeg_error_mgr manager;  // first, because the library hands out its address
  LibraryError error;
};

// error_exit must not return. longjmp() over frames of the C library is what it is made for; over C++ frames with
// destructors it would be undefined, which is why guarded() demands bodies without any.
void leave(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  std::snprintf(errors->error.text, sizeof errors->error.text, "%s", text);
  std::longjmp(errors->error.jump, 1);
}

/// Warnings are about damage that the library can recover from; only missing data make a picture unusable.
void judge_warning(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) leave(info);
}

void say_nothing(j_common_ptr) {}

class JpegDecoder final : public ImageDecoder {
 public:
  JpegDecoder(const std::string& path, PictureFile file);
  ~JpegDecoder() override { jpeg_destroy_decompress(&info_); }

  ImageShape shape() const override { return upright_shape(stored_, orientation_); }
  Image decode() override;

 private:
  int find_orientation() const;

  std::string path_;
  PictureFile file_;
  JpegErrors errors_{};
  jpeg_decompress_struct info_{};
  ImageShape stored_;
  int orientation_ = 1;
};

JpegDecoder::JpegDecoder(const std::string& path, PictureFile file) : path_(path), file_(std::move(file)) {
  info_.err = jpeg_std_error(&errors_.manager);
  errors_.manager.error_exit = leave;
  errors_.manager.emit_message = judge_warning;
  errors_.manager.output_message = say_nothing;
  try {
    guarded(path_, errors_.error, [&] {
      jpeg_create_decompress(&info_);
      jpeg_stdio_src(&info_, file_.get());
      // APP1 holds EXIF and XMP. Marker data are otherwise skipped by the library.
      constexpr unsigned kWholeMarker = 0xffff;
      jpeg_save_markers(&info_, JPEG_APP0 + 1, kWholeMarker);
      jpeg_read_header(&info_, TRUE);
    });
    check_picture_size(path_, info_.image_height, info_.image_width);
  } catch (...) {
    jpeg_destroy_decompress(&info_);
    throw;
  }
  const bool is_grey = info_.jpeg_color_space == JCS_GRAYSCALE;
  stored_ = {info_.image_height, info_.image_width, is_grey ? 1 : 3};
  orientation_ = find_orientation();
}

// EXIF has precedence over XMP, as in Pillow.
int JpegDecoder::find_orientation() const {
  constexpr std::string_view kExif("Exif\0\0", 6), kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
  std::optional<int> of_xmp;
  std::string exif;  // one block may stand in several segments, each with the name
  for (jpeg_saved_marker_ptr marker = info_.marker_list; marker; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (data.starts_with(kExif)) exif += data.substr(kExif.size());
    if (data.starts_with(kXmp)) of_xmp = orientation_of_xmp(data.substr(kXmp.size()));
  }
  const auto named = orientation_of_exif({reinterpret_cast<const std::uint8_t*>(exif.data()), exif.size()});
  return named ? *named : of_xmp.value_or(1);
}

/// Programs of Adobe store inks inverted, and so does everybody else. CMYK becomes RGB by r = c k / 255 on inverted
/// inks, the formula of Pillow, without a colour profile.
void inks_to_rgb(const std::uint8_t* inks, std::size_t num_pixels, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < num_pixels; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[3 * i + c] = static_cast<std::uint8_t>((inks[4 * i + c] * inks[4 * i + 3] + 127) / 255);
}

Image JpegDecoder::decode() {
  // libjpeg converts YCCK to CMYK and YCbCr to RGB, but CMYK to RGB not at all.
  const bool is_cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  info_.out_color_space = is_cmyk ? JCS_CMYK : stored_.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  const auto num_pixels = static_cast<std::size_t>(stored_.height * stored_.width);
  const std::size_t row_bytes = static_cast<std::size_t>(stored_.width) * (is_cmyk ? 4 : stored_.channels);
  std::vector<std::uint8_t> decoded(row_bytes * static_cast<std::size_t>(stored_.height));
  guarded(path_, errors_.error, [&] {
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = decoded.data() + info_.output_scanline * row_bytes;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
  });
  Image image{stored_, std::move(decoded)};
  if (is_cmyk) {
    const std::vector<std::uint8_t> inks = std::move(image.pixels);
    image.pixels.resize(3 * num_pixels);
    inks_to_rgb(inks.data(), num_pixels, image.pixels.data());
  }
  return upright(std::move(image), orientation_);
}

}  // namespace

std::unique_ptr<ImageDecoder> make_jpeg_decoder(const std::string& path, PictureFile file) {
  return std::make_unique<JpegDecoder>(path, std::move(file));
}

}  // namespace multicard
