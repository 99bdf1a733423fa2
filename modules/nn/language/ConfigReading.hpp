#pragma once
/// \file What the readers of the parts of config.json share.

#include <limits>
#include <optional>
#include <string>

#include "io/ForeignFormat.hpp"
#include "io/JsonReader.hpp"
#include "nn/language/LlamaConfig.hpp"

namespace multicard {

/// The reader of a configuration file with what its sizes have in common.
class ConfigReader : public JsonReader {
 public:
  static constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;  // products of two and the layers fit int64
  static constexpr std::int64_t kMostPositions = std::numeric_limits<std::int32_t>::max();

  using JsonReader::JsonReader;
  ConfigReader(const JsonReader& reader) : JsonReader(reader) {}  // NOLINT(google-explicit-constructor): one of them

  /// `otherwise` where there is none; with neither the file is refused.
  std::int64_t whole(const std::string& key, std::optional<std::int64_t> otherwise, std::int64_t least = 1,
                     std::int64_t most = kLargestSize) const;
  /// The numbers of a key that holds one or a list.
  std::vector<std::int64_t> tokens(const std::string& key) const;
};

/// Each fills its part of `config` and adds to its remarks. `keys` are those of config.json. \throws DataError
/// @{
void read_rope(const ConfigReader& keys, LlamaConfig& config);
void read_quantisation(const ConfigReader& keys, LlamaConfig& config);
/// \param keys those of generation_config.json
void read_generation(const ConfigReader& keys, LlamaConfig& config);
/// @}

/// Adds what left_out() says of an object to the remarks.
void add_remarks(const JsonReader& object, const ForeignFormat& format, std::vector<std::string>& remarks);

}  // namespace multicard
