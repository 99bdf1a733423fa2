#pragma once
/// \file What is known of the files that images come from: which parts of them are read, which say nothing of the
/// pixels, and which would be lost.

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/ForeignFormat.hpp"

namespace multicard {

/// What becomes of a file in a folder of pictures, by the ending of its name (in any case); nullptr for an ending that
/// is not known.
const ForeignKey* find_ending(std::string_view file_name);

/// The type of an IDX file's elements by its code, "0x0d"; nullptr for a code that is not known.
const ForeignKey* find_idx_type(std::uint32_t magic);

/// A column of a Parquet file with images; nullptr for a name that says nothing.
const ForeignKey* find_parquet_column(std::string_view name);

/// All of it, as `multicard help formats` and docs/data.md show it.
std::vector<ForeignFormat> image_formats();

}  // namespace multicard
