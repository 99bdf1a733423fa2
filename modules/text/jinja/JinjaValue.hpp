#pragma once
/// \file The values of templates, with the semantics of Python's.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace multicard {

class JinjaValue;
struct JinjaList;
struct JinjaDict;
struct JinjaNamespace;
struct JinjaLoop;
struct JinjaCallable;
struct JinjaNode;

/// The value of a name that is not set, or of a missing member.
struct JinjaUndefined {
  const std::string* name = nullptr;  ///< in the template's syntax tree
};
struct JinjaNone {};

/// A value. Strings, lists and dicts are shared and never changed, so that copies are cheap; namespaces and loops
/// belong to the rendering that made them.
class JinjaValue {
 public:
  using String = std::shared_ptr<const std::string>;

  JinjaValue() = default;
  JinjaValue(JinjaUndefined undefined) : value_(undefined) {}
  JinjaValue(JinjaNone none) : value_(none) {}
  JinjaValue(bool value) : value_(value) {}
  JinjaValue(std::int64_t value) : value_(value) {}
  JinjaValue(double value) : value_(value) {}
  JinjaValue(std::string value) : value_(String(std::make_shared<std::string>(std::move(value)))) {}
  JinjaValue(std::string_view value) : JinjaValue(std::string(value)) {}
  JinjaValue(const char* value) : JinjaValue(std::string(value)) {}
  JinjaValue(std::shared_ptr<const JinjaList> value) : value_(std::move(value)) {}
  JinjaValue(std::shared_ptr<const JinjaDict> value) : value_(std::move(value)) {}
  JinjaValue(std::shared_ptr<const JinjaCallable> value) : value_(std::move(value)) {}
  JinjaValue(JinjaNamespace* value) : value_(value) {}
  JinjaValue(const JinjaLoop* value) : value_(value) {}
  template <class T>
  JinjaValue(const T*) = delete;  // would become a bool

  bool is_undefined() const { return std::holds_alternative<JinjaUndefined>(value_); }
  bool is_none() const { return std::holds_alternative<JinjaNone>(value_); }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  /// Booleans are integers too.
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_) || is_boolean(); }
  bool is_real() const { return std::holds_alternative<double>(value_); }
  bool is_number() const { return is_integer() || is_real(); }
  bool is_string() const { return std::holds_alternative<String>(value_); }

  /// \name The value as one of its kind; nullptr for another
  /// @{
  const JinjaUndefined* undefined() const { return std::get_if<JinjaUndefined>(&value_); }
  const std::string* string() const { return pointer<std::string>(); }
  const JinjaList* list() const { return pointer<JinjaList>(); }
  const JinjaDict* dict() const { return pointer<JinjaDict>(); }
  const JinjaCallable* callable() const { return pointer<JinjaCallable>(); }
  const std::shared_ptr<const JinjaList>& shared_list() const {
    return std::get<std::shared_ptr<const JinjaList>>(value_);
  }
  JinjaNamespace* name_space() const { return raw<JinjaNamespace*>(); }
  const JinjaLoop* loop() const { return raw<const JinjaLoop*>(); }
  /// @}
  std::int64_t integer() const { return is_boolean() ? std::get<bool>(value_) : std::get<std::int64_t>(value_); }
  double real() const { return is_real() ? std::get<double>(value_) : static_cast<double>(integer()); }
  bool boolean() const { return std::get<bool>(value_); }

  /// bool(value)
  bool is_true() const;
  /// About what it takes in memory with all that it holds, and so the time to walk through it.
  std::size_t weight() const;
  /// How deeply lists and dicts are nested in it.
  int depth() const;
  /// "list", "str" and so on, for messages.
  const char* type_name() const;
  /// Appends in place to a string that no other value shares. \returns false where one does
  bool append_in_place(std::string_view more);

 private:
  template <class T>
  const T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<const T>>(&value_);
    return held ? held->get() : nullptr;
  }
  template <class T>
  T raw() const {
    const T* held = std::get_if<T>(&value_);
    return held ? *held : nullptr;
  }

  std::variant<JinjaUndefined, JinjaNone, bool, std::int64_t, double, String, std::shared_ptr<const JinjaList>,
               std::shared_ptr<const JinjaDict>, std::shared_ptr<const JinjaCallable>, JinjaNamespace*,
               const JinjaLoop*>
      value_;
};

/// Everything that is a row of values in Python.
struct JinjaList {
  enum class Kind { list, tuple, range, view, generator };

  Kind kind = Kind::list;
  std::vector<JinjaValue> items = {};
  std::size_t weight = 0;
  int depth = 0;
  bool is_group = false;            ///< a pair that groupby has made, whose items have names
  mutable bool is_used_up = false;  ///< a generator can be walked through once

  bool is_sequence() const { return kind == Kind::list || kind == Kind::tuple || kind == Kind::range; }
};

/// A dict in the order in which its members were set.
struct JinjaDict {
  std::vector<std::pair<JinjaValue, JinjaValue>> items;
  std::size_t weight = 0;
  int depth = 0;

  const JinjaValue* find(std::string_view key) const;
  const JinjaValue* find(const JinjaValue& key) const;
};

struct JinjaNamespace {
  std::vector<std::pair<std::string, JinjaValue>> members;

  const JinjaValue* find(std::string_view name) const;
  void set(const std::string& name, JinjaValue value);
};

/// The variable `loop`.
struct JinjaLoop {
  std::shared_ptr<const JinjaList> items;
  std::size_t index = 0;
  const JinjaNode* recursive = nullptr;  ///< what is rendered when it is called
  std::size_t scope = 0;                 ///< that it sees then
  std::size_t num_around = 0;            ///< calls of it that it stands in
};

/// \name Lists and dicts; a JinjaError when they are nested too deeply or hold too much
/// @{
JinjaValue make_jinja_list(std::vector<JinjaValue> items, JinjaList::Kind kind = JinjaList::Kind::list);
/// Of equal keys the last counts, at the place of the first.
JinjaValue make_jinja_dict(std::vector<std::pair<JinjaValue, JinjaValue>> items);
JinjaValue jinja_value(const nlohmann::ordered_json& json);
/// @}

/// \throws JinjaError for a value that cannot be the key of a dict
void require_jinja_key(const JinjaValue& key);

/// a == b
bool jinja_equal(const JinjaValue& a, const JinjaValue& b);
/// Negative, zero or positive as a < b, a == b or a > b; a JinjaError for what has no order.
int jinja_order(const JinjaValue& a, const JinjaValue& b);

}  // namespace multicard
