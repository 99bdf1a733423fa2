#pragma once
/// \file Resizing of stored images.

#include "prepare/images/Image.hpp"

namespace multicard {

/// Resizes to size x size with a triangle filter that widens when the image shrinks (antialiased bilinear, as Pillow's
/// Image.resize with BILINEAR and torchvision's antialias=True for bytes): first along rows, then along columns, each
/// rounded to bytes, with weights of 22 binary places. The aspect ratio is not kept. An image that has the size stays
/// as it is.
Image resized(Image image, std::int64_t size);

}  // namespace multicard
