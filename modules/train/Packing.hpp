#pragma once
/// \file Values as bytes, for the same program on another rank; for modules/train only.

#include <cstring>
#include <map>
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
  template <class T>
  void operator()(const std::map<std::string, T>& entries) {
    (*this)(entries.size());
    for (const auto& [name, value] : entries) {
      (*this)(name);
      (*this)(value);
    }
  }
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
  template <class T>
  void operator()(std::map<std::string, T>& entries) {
    for (std::size_t left = count(); left > 0; --left) {
      std::string name;
      (*this)(name);
      (*this)(entries[name]);
    }
  }
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
