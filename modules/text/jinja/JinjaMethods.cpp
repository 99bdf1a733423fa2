// The methods of lists and dicts.

#include "text/jinja/JinjaFilterTools.hpp"

namespace multicard {

namespace {

using Arguments = JinjaArguments;
using Value = JinjaValue;

// A search in a dict walks through its members, hence its cost. A list or a dict for a key is an error, even of an
// empty dict.
Value get(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("get", {"key", "default"});
  if (!bound[0]) throw JinjaError("get needs a key");
  runtime.spend_on(self);
  const Value* found = self.dict()->find(*bound[0]);
  return found ? *found : bound[1] ? *bound[1] : Value(JinjaNone());
}

enum class Part { keys, values, items };

// Python's views follow their dict. These are copies, and as no dict changes a template cannot notice.
template <Part part>
Value view(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  arguments.bind("keys, values and items", {});
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict()->items) {
    if (part == Part::items) {
      items.push_back(make_jinja_list({key, value}, JinjaList::Kind::tuple));
    } else {
      items.push_back(part == Part::keys ? key : value);
    }
  }
  runtime.spend(128 * items.size());
  return make_jinja_list(std::move(items), JinjaList::Kind::view);
}

// No value ever changes, so that a copy is the value itself.
Value copy(JinjaRuntime&, const Value& self, const Arguments& arguments) {
  arguments.bind("copy", {});
  return self;
}

Value list_index(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("index", {"value"});
  if (!bound[0]) throw JinjaError("index needs a value");
  const std::vector<Value>& items = self.list()->items;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (runtime.equal(items[i], *bound[0])) return static_cast<std::int64_t>(i);
  throw JinjaError("the value is not in the list");
}

Value count_items(JinjaRuntime& runtime, const Value& self, const Arguments& arguments) {
  const auto bound = arguments.bind("count", {"value"});
  if (!bound[0]) throw JinjaError("count needs a value");
  std::int64_t count = 0;
  for (const Value& item : self.list()->items)
    count += runtime.equal(item, *bound[0]);
  return count;
}

// transformers renders in ImmutableSandboxedEnvironment, which refuses the same methods. Known by name, they give a
// better error than "no such method".
Value refuse_change(JinjaRuntime&, const Value& self, const Arguments&) {
  throw JinjaError(std::string("a template may not change a ") + self.type_name());
}

using Methods = std::map<std::string, JinjaFunction, std::less<>>;

const Methods& methods_of_dict() {
  static const Methods kMethods{{"clear", refuse_change},
                                {"copy", copy},
                                {"get", get},
                                {"items", view<Part::items>},
                                {"keys", view<Part::keys>},
                                {"pop", refuse_change},
                                {"popitem", refuse_change},
                                {"setdefault", refuse_change},
                                {"update", refuse_change},
                                {"values", view<Part::values>}};
  return kMethods;
}

const Methods& methods_of_list() {
  static const Methods kMethods{{"append", refuse_change},  {"clear", refuse_change},  {"copy", copy},
                                {"count", count_items},     {"extend", refuse_change}, {"index", list_index},
                                {"insert", refuse_change},  {"pop", refuse_change},    {"remove", refuse_change},
                                {"reverse", refuse_change}, {"sort", refuse_change}};
  return kMethods;
}

const Methods& methods_of_tuple() {
  static const Methods kMethods{{"count", count_items}, {"index", list_index}};
  return kMethods;
}

}  // namespace

JinjaFunction find_jinja_method(const JinjaValue& value, std::string_view name) {
  if (value.string()) return find_jinja_text_method(name);
  const Methods* methods = nullptr;
  if (value.dict()) {
    methods = &methods_of_dict();
  } else if (value.list() && value.list()->is_sequence()) {
    methods = value.list()->kind == JinjaList::Kind::list ? &methods_of_list() : &methods_of_tuple();
  }
  if (!methods) return nullptr;
  const auto found = methods->find(name);
  return found == methods->end() ? nullptr : found->second;
}

}  // namespace multicard
