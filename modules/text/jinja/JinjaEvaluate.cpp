// Evaluating the expressions of templates.

#include <algorithm>

#include "base/Utf8.hpp"
#include "text/jinja/JinjaRuntime.hpp"
#include "text/jinja/JinjaText.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

using Kind = JinjaExpression::Kind;

JinjaValue count(std::size_t number) {
  return static_cast<std::int64_t>(number);
}

/// The index as one from 0 on, if the row has it.
std::optional<std::size_t> place_of(const JinjaValue& key, std::size_t size) {
  const std::int64_t index = key.integer() + (key.integer() < 0 ? static_cast<std::int64_t>(size) : 0);
  return index >= 0 && std::cmp_less(index, size) ? std::optional(static_cast<std::size_t>(index)) : std::nullopt;
}

}  // namespace

// What a text costs is taken off before it is made: the weight bounds it, and a hostile value must not exist first.
std::string JinjaRuntime::text_of(const JinjaValue& value) {
  spend(value.weight());
  return jinja_text(value);
}

bool JinjaRuntime::equal(const JinjaValue& a, const JinjaValue& b) {
  spend(std::min(a.weight(), b.weight()) / 4);
  return jinja_equal(a, b);
}

// Names and literals count no step: there are not more of them than the expression around has operands, and it counts.
JinjaValue JinjaRuntime::value_of(const Expression& expression) {
  switch (expression.kind) {  // the commonest ones need no more
    case Kind::literal:
      return expression.value;
    case Kind::name:
      return scopes_[expression.symbol];
    default:
      break;
  }
  const JinjaLimits::Level level(limits_);
  limits_.step();
  return computed(expression);
}

JinjaValue JinjaRuntime::computed(const Expression& expression) {
  switch (expression.kind) {
    case Kind::list:
      return list_of(expression, JinjaList::Kind::list);
    case Kind::tuple:
      return list_of(expression, JinjaList::Kind::tuple);
    case Kind::dict:
      return dict_of(expression);
    case Kind::attribute:
      return attribute(value_of(*expression.operands[0]), expression.name);
    case Kind::item: {
      const JinjaValue whole = value_of(*expression.operands[0]);
      return item(whole, value_of(*expression.operands[1]));
    }
    case Kind::slice:
      return slice(expression);
    case Kind::call:
      return call(expression);
    case Kind::filter: {
      if (!expression.filter) throw JinjaError("there is no filter \"" + expression.name + "\"");
      const JinjaValue value = value_of(*expression.operands[0]);
      spend_on(value);
      JinjaValue result = expression.filter(*this, value, arguments_of(expression));
      spend_on(result);
      return result;
    }
    case Kind::test:
      return test(expression);
    case Kind::unary:
      return unary(expression);
    case Kind::binary:
      return binary(expression);
    case Kind::compare:
      return comparison(expression);
    case Kind::choice: {
      const bool is_true = value_of(*expression.operands[0]).is_true();
      const auto& chosen = expression.operands[is_true ? 1 : 2];
      return chosen ? value_of(*chosen) : JinjaValue();
    }
    case Kind::literal:
    case Kind::name:
      break;
  }
  return {};
}

JinjaValue JinjaRuntime::test(const Expression& expression) {
  if (!expression.test) throw JinjaError("there is no test \"" + expression.name + "\"");
  const JinjaValue value = value_of(*expression.operands[0]);
  return expression.test(*this, value, arguments_of(expression));
}

JinjaValue JinjaRuntime::list_of(const Expression& expression, JinjaList::Kind kind) {
  std::vector<JinjaValue> items;
  items.reserve(expression.operands.size());
  for (const auto& operand : expression.operands)
    items.push_back(value_of(*operand));
  JinjaValue list = make_jinja_list(std::move(items), kind);
  spend_on(list);
  return list;
}

JinjaValue JinjaRuntime::dict_of(const Expression& expression) {
  std::vector<std::pair<JinjaValue, JinjaValue>> items;
  for (std::size_t i = 0; i < expression.operands.size(); i += 2) {
    JinjaValue key = value_of(*expression.operands[i]);
    items.emplace_back(std::move(key), value_of(*expression.operands[i + 1]));
  }
  JinjaValue dict = make_jinja_dict(std::move(items));
  spend_on(dict);
  return dict;
}

// Jinja asks getattr() first and the object's items then. A dict's methods therefore hide its members: message.items is
// the method, whatever a data set put there; message['items'] is the member. Attributes of undefined are errors, those
// that a defined value lacks are undefined.
JinjaValue JinjaRuntime::attribute(const JinjaValue& value, const std::string& name) {
  if (const JinjaDict* dict = value.dict()) {
    if (const JinjaFunction method = find_jinja_method(value, name))
      return std::make_shared<const JinjaCallable>(JinjaCallable{method, value});
    const JinjaValue* found = dict->find(std::string_view(name));
    return found ? *found : JinjaValue(JinjaUndefined{&name});
  }
  require_defined(value);
  if (const JinjaNamespace* members = value.name_space()) {
    const JinjaValue* found = members->find(name);
    return found ? *found : JinjaValue(JinjaUndefined{&name});
  }
  if (const JinjaLoop* loop = value.loop()) return loop_attribute(*loop, name);
  if (const JinjaList* list = value.list(); list && list->is_group && (name == "grouper" || name == "list"))
    return list->items[name == "list" ? 1 : 0];
  if (const JinjaFunction method = find_jinja_method(value, name))
    return std::make_shared<const JinjaCallable>(JinjaCallable{method, value});
  return JinjaUndefined{&name};
}

JinjaValue JinjaRuntime::loop_attribute(const JinjaLoop& loop, const std::string& name) const {
  const std::size_t size = loop.items->items.size(), index = loop.index;
  if (name == "index0") return count(index);
  if (name == "index") return count(index + 1);
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 >= size;
  if (name == "length") return count(size);
  if (name == "revindex") return count(size - index);
  if (name == "revindex0") return count(size - index - 1);
  if (name == "depth") return count(loop.num_around + 1);
  if (name == "depth0") return count(loop.num_around);
  if (name == "previtem" && index > 0) return loop.items->items[index - 1];
  if (name == "nextitem" && index + 1 < size) return loop.items->items[index + 1];
  if (name == "cycle" || name == "changed") throw JinjaError("loop." + name + " is not supported");
  return JinjaUndefined{&name};
}

// The other way round than attribute(): members first. A key that does not suit (a text for a list, an index out of
// range) gives undefined instead of Python's exception, because Jinja catches TypeError and LookupError there.
JinjaValue JinjaRuntime::item(const JinjaValue& value, const JinjaValue& key) {
  require_defined(value);
  if (const JinjaDict* dict = value.dict()) {
    if (const JinjaValue* found = dict->find(key)) return *found;
  } else if (const JinjaNamespace* members = value.name_space()) {
    if (const JinjaValue* found = key.string() ? members->find(*key.string()) : nullptr) return *found;
  } else if (const JinjaList* list = key.is_integer() ? value.list() : nullptr; list && list->is_sequence()) {
    if (const auto place = place_of(key, list->items.size())) return list->items[*place];
  } else if (const std::string* text = value.string(); text && key.is_integer()) {
    spend(text->size());
    const std::size_t length = num_characters(*text);
    if (const auto place = place_of(key, length)) {
      const auto begin = static_cast<std::int64_t>(*place);
      return python_slice(*text, begin, begin + 1, 1);
    }
  }
  const std::string* method = key.string();
  if (method && !value.dict() && !value.name_space()) {
    JinjaValue found = attribute(value, *method);
    return found.is_undefined() ? JinjaValue() : found;  // without its name: the key's string may be gone soon
  }
  if (method)
    if (const JinjaFunction function = find_jinja_method(value, *method))
      return std::make_shared<const JinjaCallable>(JinjaCallable{function, value});
  return {};
}

// Bounds are clamped as by Python's slice.indices(): for a negative step they lie between -1 and size - 1. A stride
// beyond the length is cut, so that adding it once more cannot overflow.
JinjaValue JinjaRuntime::slice(const Expression& expression) {
  const JinjaValue value = value_of(*expression.operands[0]);
  const std::string* text = value.string();
  const JinjaList* list = value.list();
  require_defined(value);
  if (!text && !(list && list->is_sequence())) throw JinjaError(std::string("a slice of a ") + value.type_name());
  if (text) spend(text->size());
  const auto size = static_cast<std::int64_t>(text ? num_characters(*text) : list->items.size());
  const auto given = [&](std::size_t i, std::optional<std::int64_t> otherwise) {
    if (!expression.operands[i]) return otherwise;
    const JinjaValue bound = value_of(*expression.operands[i]);
    if (bound.is_none()) return otherwise;
    if (!bound.is_integer()) throw JinjaError("a bound of a slice is not an integer");
    return std::optional(bound.integer());
  };
  const std::int64_t step = *given(3, 1);
  if (step == 0) throw JinjaError("the step of a slice is 0");
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto bound = [&](std::size_t i, std::int64_t otherwise) {
    const std::optional<std::int64_t> number = given(i, std::nullopt);
    if (!number) return otherwise;
    return std::clamp(*number < 0 ? *number + size : *number, lowest, highest);
  };
  const std::int64_t begin = bound(1, step > 0 ? lowest : highest), end = bound(2, step > 0 ? highest : lowest);
  const std::int64_t stride = std::clamp<std::int64_t>(step, -size - 1, size + 1);
  JinjaValue part;
  if (text) {
    part = python_slice(*text, begin, end, stride);
  } else {
    std::vector<JinjaValue> items;
    for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += stride)
      items.push_back(list->items[static_cast<std::size_t>(i)]);
    part = make_jinja_list(std::move(items), list->kind);
  }
  spend_on(part);
  return part;
}

// A second walk through a generator finds nothing, as in Python; templates that assign one to a name and use it twice
// depend on that. A character of a text becomes a value of its own and is counted as one.
std::shared_ptr<const JinjaList> JinjaRuntime::items_of(const JinjaValue& value) {
  std::vector<JinjaValue> items;
  if (const JinjaList* list = value.list()) {
    if (list->kind != JinjaList::Kind::generator) return value.shared_list();
    if (!std::exchange(list->is_used_up, true)) return value.shared_list();
  } else if (const JinjaDict* dict = value.dict()) {
    for (const auto& member : dict->items)
      items.push_back(member.first);
  } else if (const std::string* text = value.string()) {
    spend(64 * text->size());
    for (const std::string_view character : python_characters(*text))
      items.emplace_back(character);
  } else if (!value.is_undefined()) {
    throw JinjaError(std::string("a ") + value.type_name() + " cannot be iterated");
  }
  return make_jinja_list(std::move(items)).shared_list();
}

bool JinjaRuntime::contains(const JinjaValue& whole, const JinjaValue& part) {
  if (const std::string* text = whole.string()) {
    if (!part.string()) throw JinjaError(std::string("\"in\" a string needs a string, not ") + part.type_name());
    spend(text->size() / 64 * part.string()->size() + text->size());  // compared at worst
    return text->find(*part.string()) != std::string::npos;
  }
  spend_on(whole);
  if (const JinjaDict* dict = whole.dict()) return dict->find(part) != nullptr;
  const std::shared_ptr<const JinjaList> items = items_of(whole);
  return std::any_of(items->items.begin(), items->items.end(),
                     [&](const JinjaValue& item) { return equal(item, part); });
}

std::int64_t JinjaRuntime::length_of(const JinjaValue& value) {
  if (const std::string* text = value.string()) return static_cast<std::int64_t>(num_characters(*text));
  if (const JinjaDict* dict = value.dict()) return static_cast<std::int64_t>(dict->items.size());
  if (const JinjaList* list = value.list(); list && list->kind != JinjaList::Kind::generator)
    return static_cast<std::int64_t>(list->items.size());
  if (value.is_undefined()) return 0;
  throw JinjaError(std::string("a ") + value.type_name() + " has no length");
}

}  // namespace multicard
