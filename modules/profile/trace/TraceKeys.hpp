#pragma once
/// \file Numbers for what events of a trace name: calls and kernels, threads, streams.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile/NameTable.hpp"

namespace multicard {

/// An event that cannot be an event of a trace, thrown where its position is not known.
struct WrongEvent {
  std::string what;
};

inline constexpr const char* kTooManyBytes = "its bytes are more than 2^53, or those up to it more than 2^62";

/// Numbers of names by the tokens of the file, strings with quotation marks and escapes: a name is unescaped once.
class TokenNames {
 public:
  explicit TokenNames(NameTable& names) : names_(names) {}

  /// \throws WrongEvent where the token is not a string
  std::int32_t id(std::string_view token);

 private:
  NameTable& names_;
  TextMap<std::int32_t> ids_;
};

/// Numbers for keys of two parts, in the order of their first use. Neighbours in the file often have the same key.
template <class Key>
class Numbers {
 public:
  std::int32_t number(const Key& key) {
    if (last_ >= 0 && keys_[static_cast<std::size_t>(last_)] == key) return last_;
    const auto [place, is_new] = numbers_.try_emplace(key, static_cast<std::int32_t>(keys_.size()));
    if (is_new) keys_.push_back(key);
    return last_ = place->second;
  }

  const std::vector<Key>& keys() const { return keys_; }

 private:
  std::map<Key, std::int32_t> numbers_;
  std::vector<Key> keys_;
  std::int32_t last_ = -1;
};

}  // namespace multicard
