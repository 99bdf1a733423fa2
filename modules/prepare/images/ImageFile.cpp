#include "prepare/images/ImageFile.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "prepare/images/ImageCodec.hpp"

namespace multicard {

namespace {

/// `name` is a path, or says where the bytes come from. The content decides and not the ending of the name: data sets
/// hold many PNGs that are called .jpg.
std::unique_ptr<ImageDecoder> decoder_of(const std::string& name, PictureFile file) {
  std::array<unsigned char, 4> head{};
  errno = 0;
  const std::size_t got = std::fread(head.data(), 1, head.size(), file.get());
  if (std::ferror(file.get())) throw DataError(fmt::format("{} cannot be read", name), system_error_text(errno));
  std::rewind(file.get());
  if (got >= 2 && std::memcmp(head.data(), "\xff\xd8", 2) == 0) return make_jpeg_decoder(name, std::move(file));
  if (got == 4 && std::memcmp(head.data(), "\x89PNG", 4) == 0) return make_png_decoder(name, std::move(file));
  throw DataError(fmt::format("{} cannot be decoded", name),
                  got == 0 ? "it is empty" : "it is neither a JPEG nor a PNG file");
}

std::unique_ptr<ImageDecoder> open_decoder(const std::string& path) {
  require_regular_file(path);
  PictureFile file(std::fopen(path.c_str(), "rb"));
  if (!file) throw DataError(fmt::format("{} cannot be read", path), system_error_text(errno));
  return decoder_of(path, std::move(file));
}

/// The bytes stay with the caller.
std::unique_ptr<ImageDecoder> decoder_of(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) throw DataError(fmt::format("{} cannot be decoded", name), "it is empty");
  PictureFile file(fmemopen(const_cast<char*>(bytes.data()), bytes.size(), "rb"));  // for reading only
  if (!file) throw DataError(fmt::format("{} cannot be read", name), system_error_text(errno));
  return decoder_of(name, std::move(file));
}

}  // namespace

ImageShape shape_of_image_file(const std::string& path) {
  return open_decoder(path)->shape();
}

Image read_image_file(const std::string& path) {
  return open_decoder(path)->decode();
}

ImageShape shape_of_image(std::string_view bytes, const std::string& name) {
  return decoder_of(bytes, name)->shape();
}

Image decode_image(std::string_view bytes, const std::string& name) {
  return decoder_of(bytes, name)->decode();
}

}  // namespace multicard
