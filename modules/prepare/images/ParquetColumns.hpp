#pragma once
/// \file Which columns of a Parquet file hold images and labels.

#include <string>
#include <vector>

#include "io/ParquetFile.hpp"

namespace multicard {

struct ImageColumns {
  std::string image, label;
  std::vector<std::string> unused;  ///< the others
};

/// The columns that are `named`, or those that can be meant. A column called `image` or `label` is; one that holds
/// something else under that name is refused, because another one would then be taken in its place. Without it the only
/// column of structs with bytes (then the only one of bytes), and the only one of integers that is not called like a
/// row's number or a picture's size. \throws DataError
ImageColumns find_image_columns(const ParquetFile& file, const std::vector<std::string>& named);

/// The names of classes that the datasets library stores for a column (a ClassLabel in the key "huggingface"); none
/// where it stores none. \throws DataError for names that are not one for each number from 0
std::vector<std::string> stored_class_names(const ParquetFile& file, const std::string& column);

}  // namespace multicard
