#pragma once
/// \file The tree of a deck: scalars, lists and maps in the order written.

#include <string>
#include <string_view>
#include <vector>

namespace multicard {

/// One node of a deck. A value type: copies are independent.
struct Value {
  enum class Kind { null, scalar, list, map };
  enum class Quoting { plain, quoted };

  Kind kind = Kind::null;
  std::string text;                  ///< of a scalar
  Quoting quoting = Quoting::plain;  ///< quoted scalars stay text: "5" and "null" keep their quotes when written
  std::vector<std::string> keys;     ///< of a map, parallel to items
  std::vector<Value> items;          ///< of a list or a map

  static Value scalar(std::string text, Quoting quoting = Quoting::plain);
  static Value map();

  bool is_null() const { return kind == Kind::null; }
  bool is_map() const { return kind == Kind::map; }

  /// The value of `key` in a map, or nullptr.
  const Value* find(std::string_view key) const;
  /// The value at a dotted path, or nullptr. Elements of lists are counted from 1: `tasks.2.steps`.
  const Value* find_path(std::string_view path) const;
  /// Puts `value` at a dotted path and makes the maps on the way. False, changing nothing, when something on the way
  /// is neither a map, nor null, nor an element of a list.
  bool set_path(std::string_view path, Value value);
  /// Removes the key at a dotted path, if it is there.
  void erase_path(std::string_view path);

  bool operator==(const Value&) const = default;
};

}  // namespace multicard
