#pragma once
/// \file Names and numbers as reports write them.

#include <string>
#include <vector>

namespace multicard::post {

/// The last component of a deck path; the one before it where that is "name", or the path of a model: image_size,
/// strategy, model.
std::string short_key(const std::string& key);

/// The last part of a path: a language model is a folder, named for the model.
std::string last_name(std::string path);

/// Longest part of a label that comes from a file, in bytes.
constexpr std::size_t kLongestLabel = 1000;

/// The value for tables and figures: without its middle where it is longer than kLongestLabel.
std::string short_value(const std::string& value);

/// Appends `name` unless `names` has it.
void add_once(std::vector<std::string>& names, const std::string& name);

/// "image size" for image_size
std::string spaced(std::string name);

/// `text` with its first letter, where it is one of a to z, as a capital.
std::string capitalised(std::string text);

/// "1 pair of cells", "4 pairs of cells"
std::string counted_pairs(long count, const std::string& of);

/// "4 ranks" for a number given as text; other text stays as it is.
std::string counted_text(const std::string& number, const std::string& noun);

}  // namespace multicard::post
