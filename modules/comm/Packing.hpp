#pragma once
/// \file Values as bytes, for the same program on another rank; for messages between ranks.

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/Error.hpp"

namespace multicard {

/// Appends values to bytes.
class Packer {
 public:
  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes_ += text;
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    (*this)(values.size());
    if (!values.empty()) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void operator()(const std::vector<std::string>& texts) {
    (*this)(texts.size());
    for (const std::string& text : texts)
      (*this)(text);
  }
  template <class Key, class T>
  void operator()(const std::map<Key, T>& values) {
    entries(values, *this);
  }
  /// Values with members that `pack_value` packs.
  /// @{
  template <class Key, class T, class Pack>
  void entries(const std::map<Key, T>& values, Pack&& pack_value) {
    (*this)(values.size());
    for (const auto& [name, value] : values) {
      (*this)(name);
      pack_value(value);
    }
  }
  template <class T, class Pack>
  void optional(const std::optional<T>& value, Pack&& pack_value) {
    (*this)(value.has_value());
    if (value) pack_value(*value);
  }
  /// @}
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Takes values off bytes, in the order in which they were packed.
/// \throws CommunicationError when bytes are missing
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(&value, next(1, sizeof(T)), sizeof(T));
  }
  void operator()(std::string& text) {
    const std::size_t length = count();
    text.assign(next(length, 1), length);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    const std::size_t length = count();
    const char* from = next(length, sizeof(T));
    values.resize(length);
    if (length > 0) std::memcpy(values.data(), from, length * sizeof(T));
  }
  void operator()(std::vector<std::string>& texts) {
    texts.clear();
    for (std::size_t left = count(); left > 0; --left)
      (*this)(texts.emplace_back());
  }
  template <class Key, class T>
  void operator()(std::map<Key, T>& values) {
    entries(values, *this);
  }
  /// Values with members that `take_value` takes.
  /// @{
  template <class Key, class T, class Take>
  void entries(std::map<Key, T>& values, Take&& take_value) {
    values.clear();
    for (std::size_t left = count(); left > 0; --left) {
      Key key;
      (*this)(key);
      take_value(values[key]);
    }
  }
  template <class T, class Take>
  void optional(std::optional<T>& value, Take&& take_value) {
    bool is_there = false;
    (*this)(is_there);
    value.reset();
    if (is_there) take_value(value.emplace());
  }
  /// @}
  bool finished() const { return bytes_.empty(); }

 private:
  std::size_t count() {
    std::size_t value = 0;
    (*this)(value);
    return value;
  }
  const char* next(std::size_t number, std::size_t size) {
    if (number > bytes_.size() / size) throw CommunicationError("a record arrived incomplete");
    const char* at = bytes_.data();
    bytes_.remove_prefix(number * size);
    return at;
  }

  std::string_view bytes_;
};

}  // namespace multicard
