#pragma once
/// \file Which way up a photo is.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "prepare/images/Image.hpp"

namespace multicard {

/// The orientation, 1 to 8, that an EXIF block (a TIFF header and its first directory; CIPA DC-008, tag 0x0112) names;
/// 1 (as it is) for another number. Nothing when it names none or is damaged.
std::optional<int> orientation_of_exif(std::span<const std::uint8_t> exif);
/// Likewise of an XMP packet (its property tiff:Orientation), which programs write in addition to EXIF or instead.
std::optional<int> orientation_of_xmp(std::string_view xmp);

/// The shape that an image of `stored` shape has when it is turned upright.
ImageShape upright_shape(const ImageShape& stored, int orientation);
/// Turns and mirrors an image so that it is upright.
Image upright(Image stored, int orientation);

}  // namespace multicard
