#pragma once
/// \file What results files say of the settings of their runs.

#include <string>

namespace multicard {

/// What a reader should know of a setting of runs: a deck key of the program that wrote the file.
struct SettingKey {
  std::string key;     ///< data.image_size
  std::string label;   ///< "image size"
  std::string effect;  ///< identity | work | learning | speed | bookkeeping (docs/decks.md)

  bool operator==(const SettingKey&) const = default;
};

}  // namespace multicard
