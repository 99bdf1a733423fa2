#include "text/jinja/JinjaValue.hpp"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "text/jinja/Jinja.hpp"
#include "text/jinja/JinjaCallable.hpp"

namespace multicard {

namespace {

constexpr int kDeepest = 200;
constexpr std::size_t kHeaviest = std::size_t{1} << 30;
constexpr std::size_t kWeightOfValue = 32;

// x = [x, x] doubles what a walk takes and adds one list to the memory: the weight counts a shared value each time, and
// so bounds the time. The depth bounds the recursion of walks and destructors.
void check(std::size_t weight, int depth) {
  if (depth > kDeepest) throw JinjaError("values are nested too deeply");
  if (weight > kHeaviest) throw JinjaError("a value is too large");
}

bool equal_items(std::span<const JinjaValue> a, std::span<const JinjaValue> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), jinja_equal);
}

bool equal_dicts(const JinjaDict& a, const JinjaDict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const JinjaValue* other = b.find(key);
    if (!other || !jinja_equal(value, *other)) return false;
  }
  return true;
}

template <class T>
int order_of(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

bool JinjaValue::is_true() const {
  if (is_boolean()) return boolean();
  if (is_integer()) return integer() != 0;
  if (is_real()) return real() != 0;
  if (const std::string* text = string()) return !text->empty();
  if (const JinjaList* items = list()) return items->kind == JinjaList::Kind::generator || !items->items.empty();
  if (const JinjaDict* members = dict()) return !members->items.empty();
  return !is_undefined() && !is_none();
}

std::size_t JinjaValue::weight() const {
  if (const std::string* text = string()) return kWeightOfValue + text->size();
  if (const JinjaList* items = list()) return items->weight;
  if (const JinjaDict* members = dict()) return members->weight;
  return kWeightOfValue;
}

int JinjaValue::depth() const {
  if (const JinjaList* items = list()) return items->depth;
  if (const JinjaDict* members = dict()) return members->depth;
  if (const JinjaCallable* function = callable()) return function->self.depth() + 1;
  return 0;
}

const char* JinjaValue::type_name() const {
  if (is_undefined()) return "undefined";
  if (is_none()) return "None";
  if (is_boolean()) return "bool";
  if (is_integer()) return "int";
  if (is_real()) return "float";
  if (is_string()) return "str";
  if (dict()) return "dict";
  if (name_space()) return "namespace";
  if (loop()) return "loop";
  if (callable()) return "function";
  switch (list()->kind) {
    case JinjaList::Kind::list:
      return "list";
    case JinjaList::Kind::tuple:
      return "tuple";
    case JinjaList::Kind::range:
      return "range";
    case JinjaList::Kind::view:
      return "view of a dict";
    case JinjaList::Kind::generator:
      return "generator";
  }
  return "";
}

// The text was made as a std::string that is not const (see the constructor), and with one owner no other thread can
// take a second reference in the meantime.
bool JinjaValue::append_in_place(std::string_view more) {
  auto* held = std::get_if<String>(&value_);
  if (!held || held->use_count() != 1) return false;
  const_cast<std::string&>(**held).append(more);  // no other value shares it
  return true;
}

// Messages have a handful of members, for which a walk is faster than a hash.
const JinjaValue* JinjaDict::find(std::string_view key) const {
  for (const auto& [name, value] : items)
    if (const std::string* text = name.string(); text && *text == key) return &value;
  return nullptr;
}

const JinjaValue* JinjaDict::find(const JinjaValue& key) const {
  if (const std::string* text = key.string()) return find(std::string_view(*text));
  require_jinja_key(key);
  for (const auto& [name, value] : items)
    if (jinja_equal(name, key)) return &value;
  return nullptr;
}

const JinjaValue* JinjaNamespace::find(std::string_view name) const {
  for (const auto& [member, value] : members)
    if (member == name) return &value;
  return nullptr;
}

void JinjaNamespace::set(const std::string& name, JinjaValue value) {
  for (auto& [member, old] : members)
    if (member == name) {
      old = std::move(value);
      return;
    }
  members.emplace_back(name, std::move(value));
}

JinjaValue make_jinja_list(std::vector<JinjaValue> items, JinjaList::Kind kind) {
  auto list = std::make_shared<JinjaList>();
  list->kind = kind;
  list->weight = kWeightOfValue;
  for (const JinjaValue& item : items) {
    list->weight += item.weight();
    list->depth = std::max(list->depth, item.depth());
  }
  check(list->weight, ++list->depth);
  list->items = std::move(items);
  return std::shared_ptr<const JinjaList>(std::move(list));
}

JinjaValue make_jinja_dict(std::vector<std::pair<JinjaValue, JinjaValue>> items) {
  auto dict = std::make_shared<JinjaDict>();
  dict->weight = kWeightOfValue;
  dict->items.reserve(items.size());
  for (auto& item : items) {
    require_jinja_key(item.first);
    dict->weight += item.first.weight() + item.second.weight();
    dict->depth = std::max({dict->depth, item.first.depth(), item.second.depth()});
    if (auto* old = const_cast<JinjaValue*>(dict->find(item.first))) {
      *old = std::move(item.second);
    } else {
      dict->items.push_back(std::move(item));
    }
  }
  check(dict->weight, ++dict->depth);
  return std::shared_ptr<const JinjaDict>(std::move(dict));
}

// Integers beyond 64 bits, which JSON allows and Python keeps, become floats.
JinjaValue jinja_value(const nlohmann::ordered_json& json) {
  if (json.is_string()) return json.get_ref<const std::string&>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float() || (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX))
    return json.get<double>();
  if (json.is_number()) return json.get<std::int64_t>();
  if (json.is_array()) {
    std::vector<JinjaValue> items;
    items.reserve(json.size());
    for (const auto& item : json)
      items.push_back(jinja_value(item));
    return make_jinja_list(std::move(items));
  }
  if (!json.is_object()) return JinjaNone();
  std::vector<std::pair<JinjaValue, JinjaValue>> items;
  items.reserve(json.size());
  for (const auto& [key, value] : json.items())
    items.emplace_back(key, jinja_value(value));
  return make_jinja_dict(std::move(items));
}

void require_jinja_key(const JinjaValue& key) {
  if (key.dict() || (key.list() && key.list()->kind == JinjaList::Kind::list))
    throw JinjaError(std::string("a ") + key.type_name() + " cannot be the key of a dict");
}

bool jinja_equal(const JinjaValue& a, const JinjaValue& b) {
  if (a.is_number() && b.is_number())
    return a.is_integer() && b.is_integer() ? a.integer() == b.integer() : a.real() == b.real();
  if (a.string() && b.string()) return *a.string() == *b.string();
  if (a.list() && b.list()) {
    if (a.list() == b.list()) return true;
    return a.list()->kind == b.list()->kind && a.list()->is_sequence() && equal_items(a.list()->items, b.list()->items);
  }
  if (a.dict() && b.dict()) return equal_dicts(*a.dict(), *b.dict());
  if (a.name_space() || b.name_space()) return a.name_space() == b.name_space();
  if (a.callable() || b.callable()) return a.callable() == b.callable();
  if (a.loop() || b.loop()) return a.loop() == b.loop();
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

// As in Python there is no order between types (1 < "a"), of dicts, of ranges or of None; the first items that differ
// decide between rows.
int jinja_order(const JinjaValue& a, const JinjaValue& b) {
  if (a.is_integer() && b.is_integer()) return order_of(a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return order_of(a.real(), b.real());
  if (a.string() && b.string()) return order_of(*a.string(), *b.string());  // UTF-8 keeps the order of characters
  const JinjaList *left = a.list(), *right = b.list();
  if (!left || !right || left->kind != right->kind || !left->is_sequence() || left->kind == JinjaList::Kind::range)
    throw JinjaError(std::string(a.type_name()) + " and " + b.type_name() + " have no order");
  for (std::size_t i = 0; i < std::min(left->items.size(), right->items.size()); ++i)
    if (!jinja_equal(left->items[i], right->items[i])) return jinja_order(left->items[i], right->items[i]);
  return order_of(left->items.size(), right->items.size());
}

}  // namespace multicard
