#pragma once
/// \file Between the scalars of decks and C++ types; for Section.cpp.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/Number.hpp"
#include "base/Text.hpp"
#include "config/Value.hpp"

namespace multicard {

/// Value to T and back to text, and what T is called in a message and in the documents.
template <class T>
struct Scalar;

template <>
struct Scalar<bool> {
  static constexpr const char* name = "true or false";
  static constexpr const char* type = "flag";
  static std::optional<bool> parse(const Value& value) {
    if (value.quoting == Value::Quoting::quoted) return std::nullopt;
    if (value.text == "true") return true;
    return value.text == "false" ? std::optional(false) : std::nullopt;
  }
  static std::string text(bool value) { return value ? "true" : "false"; }
};

template <class T>
struct WholeNumber {
  static constexpr const char* name = "a whole number";
  static constexpr const char* type = "whole";
  static std::optional<T> parse(const Value& value) { return parse_number<T>(value.text); }
  static std::string text(T value) { return std::to_string(value); }
};
template <>
struct Scalar<int> : WholeNumber<int> {};
template <>
struct Scalar<std::int64_t> : WholeNumber<std::int64_t> {};

template <>
struct Scalar<double> {
  static constexpr const char* name = "a number";
  static constexpr const char* type = "number";
  static std::optional<double> parse(const Value& value) {
    const std::optional<double> number = parse_number<double>(value.text);
    return number && std::isfinite(*number) ? number : std::nullopt;
  }
  static std::string text(double value) { return fmt::format("{}", value); }
};

template <>
struct Scalar<std::string> {
  static constexpr const char* name = "text";
  static constexpr const char* type = "text";
  static std::optional<std::string> parse(const Value& value) { return value.text; }
  static std::string text(const std::string& value) { return value; }
};

/// A scalar that reads back as the text it holds.
template <class T>
Value to_value(const T& value) {
  const std::string text = Scalar<T>::text(value);
  const bool looks_null = text.empty() || text == "~" || text == "null";
  return Value::scalar(text, looks_null ? Value::Quoting::quoted : Value::Quoting::plain);
}

/// Seconds of "H:MM:SS" or a plain number.
inline std::optional<double> parse_duration(const std::string& text) {
  const auto parts = split(text, ':');
  if (parts.size() == 1) return parse_number<double>(text);
  if (parts.size() != 3 || parts[1].size() != 2 || parts[2].size() != 2) return std::nullopt;
  double seconds = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::optional<int> part = parse_number<int>(parts[i]);
    if (!part || *part < 0 || (i > 0 && *part > 59)) return std::nullopt;
    seconds = seconds * 60 + *part;
  }
  return seconds;
}

}  // namespace multicard
