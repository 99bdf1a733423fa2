#include "prepare/images/ImageCodec.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

void throw_damaged(const std::string& path, const char* why) {
  throw DataError(fmt::format("{} cannot be decoded", path), why);
}

void check_picture_size(const std::string& path, std::int64_t height, std::int64_t width) {
  // The size in a header is not proof of data: a few bytes could ask for gigabytes. The product is compared by a
  // division, which cannot overflow.
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;
  if (height < 1 || width < 1 || height > kMostPixels / width)
    throw DataError(fmt::format("{} cannot be decoded", path), fmt::format("it is {} x {} pixels", width, height));
}

}  // namespace multicard
