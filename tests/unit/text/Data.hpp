#pragma once
/// \file The files in tests/data/tokenizers.

#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "io/Bytes.hpp"

namespace multicard {

/// The file or folder of a name in the README there.
inline std::string token_data(const std::string& name) {
  const std::string data = std::string(std::getenv("MULTICARD_SOURCE")) + "/tests/data/";
  return data + (name == "tinystories" ? "models/tinystories-656K" : "tokenizers/" + name);
}

inline nlohmann::json read_oracle(const std::string& name) {
  return nlohmann::json::parse(read_file(token_data("oracles/" + name + ".json")));
}

}  // namespace multicard
