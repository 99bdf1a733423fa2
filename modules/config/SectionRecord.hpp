#pragma once
/// \file What all sections of one deck share; for Section.cpp and SectionMaps.cpp.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/Section.hpp"

namespace multicard {

struct Section::Record {
  Deck deck;
  std::vector<KnownKey> table;
  KeysBySection known;
  std::optional<UsageError> problem;  ///< the first one
  Value resolved = Value::map();
  std::vector<std::string> lists;  ///< keys whose values are lists of maps; in `resolved` maps by number
  std::map<std::string, KeyReading> readings;

  /// The value of a key, also of one in a list of maps.
  const Value* at(const std::string& path) const;
};

}  // namespace multicard
