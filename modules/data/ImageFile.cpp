#include "data/ImageFile.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "data/ImageCodec.hpp"

namespace multicard {

namespace {

std::unique_ptr<ImageDecoder> open_decoder(const std::string& path) {
  require_regular_file(path);
  PictureFile file(std::fopen(path.c_str(), "rb"));
  if (!file) throw DataError(fmt::format("{} cannot be read", path), system_error_text(errno));
  std::array<unsigned char, 4> head{};
  errno = 0;
  const std::size_t got = std::fread(head.data(), 1, head.size(), file.get());
  if (std::ferror(file.get())) throw DataError(fmt::format("{} cannot be read", path), system_error_text(errno));
  std::rewind(file.get());
  if (got >= 2 && std::memcmp(head.data(), "\xff\xd8", 2) == 0) return make_jpeg_decoder(path, std::move(file));
  if (got == 4 && std::memcmp(head.data(), "\x89PNG", 4) == 0) return make_png_decoder(path, std::move(file));
  throw DataError(fmt::format("{} cannot be decoded", path),
                  got == 0 ? "it is empty" : "it is neither a JPEG nor a PNG file");
}

}  // namespace

ImageShape shape_of_image_file(const std::string& path) {
  return open_decoder(path)->shape();
}

Image read_image_file(const std::string& path) {
  return open_decoder(path)->decode();
}

}  // namespace multicard
