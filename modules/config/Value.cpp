#include "config/Value.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace multicard {

namespace {

/// Where the first key of `path` ends. A key of the map may hold dots itself, as the axes of sweeps do.
std::size_t first_dot(const Value& map, std::string_view path) {
  return map.find(path) != nullptr ? std::string_view::npos : path.find('.');
}

/// The element of a list that `key` counts from 1, or nullptr.
const Value* element(const Value& list, std::string_view key) {
  std::size_t number = 0;
  const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), number);
  const bool is_number = failed == std::errc() && end == key.data() + key.size();
  return is_number && number >= 1 && number <= list.items.size() ? &list.items[number - 1] : nullptr;
}

const Value* child_of(const Value& parent, std::string_view key) {
  return parent.kind == Value::Kind::list ? element(parent, key) : parent.find(key);
}

}  // namespace

Value Value::scalar(std::string text, Quoting quoting) {
  Value value;
  value.kind = Kind::scalar;
  value.text = std::move(text);
  value.quoting = quoting;
  return value;
}

Value Value::map() {
  Value value;
  value.kind = Kind::map;
  return value;
}

const Value* Value::find(std::string_view key) const {
  const auto at = std::find(keys.begin(), keys.end(), key);
  return at == keys.end() ? nullptr : &items[static_cast<std::size_t>(at - keys.begin())];
}

const Value* Value::find_path(std::string_view path) const {
  // A key with dots must be the whole rest of the path: `a.b` under `sweep` is found as sweep.a.b, nothing below it.
  const std::size_t dot = first_dot(*this, path);
  const Value* child = child_of(*this, path.substr(0, dot));
  return child == nullptr || dot == std::string_view::npos ? child : child->find_path(path.substr(dot + 1));
}

bool Value::set_path(std::string_view path, Value value) {
  if (is_null()) *this = map();
  const std::size_t dot = first_dot(*this, path);
  const std::string key(path.substr(0, dot));
  Value* child = const_cast<Value*>(child_of(*this, key));
  if (!is_map() && child == nullptr) return false;
  // Made first and put in last, so that nothing has changed where the path cannot be followed.
  Value fresh;
  Value& target = child == nullptr ? fresh : *child;
  if (dot == std::string_view::npos)
    target = std::move(value);
  else if (!target.set_path(path.substr(dot + 1), std::move(value)))
    return false;
  if (child == nullptr) {
    keys.push_back(key);
    items.push_back(std::move(fresh));
  }
  return true;
}

void Value::erase_path(std::string_view path) {
  const std::size_t dot = first_dot(*this, path);
  Value* child = const_cast<Value*>(child_of(*this, path.substr(0, dot)));
  if (child == nullptr) return;
  if (dot != std::string_view::npos) return child->erase_path(path.substr(dot + 1));
  const auto index = child - items.data();
  items.erase(items.begin() + index);
  if (is_map()) keys.erase(keys.begin() + index);
}

}  // namespace multicard
