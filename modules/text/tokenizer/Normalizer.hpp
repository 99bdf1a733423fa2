#pragma once
/// \file What a tokenizer file does to a text before it is split.

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "text/unicode/TextRoom.hpp"

namespace multicard {

/// The normaliser of a tokenizer.json.
class Normalizer {
 public:
  /// From its JSON; null does nothing. An unknown step is a DataError naming it.
  explicit Normalizer(const nlohmann::json& description);

  bool does_nothing() const { return steps_.empty(); }
  /// `text` is valid UTF-8, and so is the result, which is taken off the room. \throws DataError when it has none
  std::string operator()(std::string text, TextRoom& room) const;

 private:
  void add(const nlohmann::json& description);

  std::vector<std::function<std::string(std::string, const TextRoom&)>> steps_;
};

}  // namespace multicard
