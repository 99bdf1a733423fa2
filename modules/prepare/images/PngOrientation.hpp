#pragma once
/// \file Which way up a PNG is; for modules/prepare only.

#include <cstdio>

namespace multicard {

/// The orientation, 1 to 8, that a PNG names in its eXIf chunk, before or after the pixels; else in the EXIF block that
/// ImageMagick keeps as a text; else in its XMP. 1 if it names none. Leaves the file at its beginning.
int orientation_of_png(std::FILE* file);

}  // namespace multicard
