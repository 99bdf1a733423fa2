#pragma once
/// \file Pictures in JPEG and PNG files.

#include <string>
#include <string_view>

#include "prepare/images/Image.hpp"

namespace multicard {

/// The shape that read_image_file gives, from the head of the file.
/// \throws DataError naming the file: unreadable, damaged, neither JPEG nor PNG, more than 2^28 pixels.
ImageShape shape_of_image_file(const std::string& path);

/// A decoded picture, grey or RGB, turned upright as its EXIF or XMP says. CMYK is converted to RGB, of 16 bits a
/// channel the upper 8 are read, palettes are resolved and transparency is dropped. A JPEG that ends early is an error.
/// \throws DataError as shape_of_image_file.
Image read_image_file(const std::string& path);

/// \name The same of a file's bytes; `name` says in errors where they come from.
/// @{
ImageShape shape_of_image(std::string_view bytes, const std::string& name);
Image decode_image(std::string_view bytes, const std::string& name);
/// @}

}  // namespace multicard
