#pragma once
/// \file Putting the texts of tokens together.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "text/unicode/TextRoom.hpp"

namespace multicard {

/// The decoder of a tokenizer.json.
class Decoder {
 public:
  using Tokens = std::vector<std::string>;

  /// From its JSON; null joins tokens by spaces. An unknown step is a DataError naming it.
  explicit Decoder(const nlohmann::json& description);

  /// It does nothing but turn visible characters into bytes, token by token (see bytes_of_token).
  bool is_byte_level() const { return is_byte_level_; }
  /// Valid UTF-8. \throws DataError when it becomes too long (TextRoom)
  std::string operator()(Tokens tokens) const;

 private:
  using Step = std::function<Tokens(Tokens, const TextRoom&)>;
  void add(const nlohmann::json& description);
  static Step make_step(const nlohmann::json& description, const std::string& type);

  std::vector<Step> steps_;
  bool is_byte_level_ = false;
};

/// The byte of a token like <0x0A>.
std::optional<char> fallback_byte(std::string_view token);

/// What a byte-level decoder makes of one token: the bytes for which its characters stand, or the token itself if it
/// has other characters.
std::string bytes_of_token(std::string_view token);

}  // namespace multicard
