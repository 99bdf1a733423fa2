// The filters of templates that take a row of values, but for those that compare them.

#include <algorithm>
#include <charconv>
#include <utility>

#include "text/jinja/JinjaFilterTools.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

using Items = std::vector<JinjaValue>;

// Python's generators work when they are walked through, these at once. A template could only see the difference by an
// error in an item that it never reaches. That they are used up, always true and without length is kept.
JinjaValue generator(Items items) {
  return make_jinja_list(std::move(items), JinjaList::Kind::generator);
}

/// Some filters take everything that is false as an empty row.
std::shared_ptr<const JinjaList> items_if_true(JinjaRuntime& runtime, const JinjaValue& value) {
  return runtime.items_of(value.is_true() ? value : JinjaValue());
}

JinjaValue first_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("first", {});
  const auto items = runtime.items_of(value);
  return items->items.empty() ? JinjaValue() : items->items.front();
}

JinjaValue last_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("last", {});
  if (value.list() && value.list()->kind == JinjaList::Kind::generator)
    throw JinjaError("a generator has no last item");
  const auto items = runtime.items_of(value);
  return items->items.empty() ? JinjaValue() : items->items.back();
}

JinjaValue length_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("length", {});
  return runtime.length_of(value);
}

JinjaValue list_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("list", {});
  return make_jinja_list(runtime.items_of(value)->items);
}

JinjaValue items_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("items", {});
  if (value.is_undefined()) return generator({});
  if (!value.dict()) throw JinjaError(std::string("a ") + value.type_name() + " has no items");
  return generator(find_jinja_method(value, "items")(runtime, value, {}).list()->items);
}

JinjaValue reverse_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("reverse", {});
  Items items = runtime.items_of(value)->items;
  std::reverse(items.begin(), items.end());
  if (!value.string()) return generator(std::move(items));
  std::string text;
  for (const JinjaValue& character : items)
    text += *character.string();
  return text;
}

JinjaValue join_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("join", {"d", "attribute"});
  const std::string between = bound[0] ? runtime.text_of(*bound[0]) : "";
  std::string text;
  bool is_first = true;
  const auto items = runtime.items_of(value);
  for (const JinjaValue& item : items->items) {
    if (!is_first) text += between;
    is_first = false;
    text += runtime.text_of(jinja_member(runtime, item, bound[1]));
    runtime.spend(between.size());
  }
  return text;
}

JinjaValue map_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  Items mapped;
  const auto items = items_if_true(runtime, value);
  if (arguments.positional.empty()) {
    const auto bound = arguments.bind("map", {"attribute", "default"});
    if (!bound[0]) throw JinjaError("map needs a filter or an attribute");
    for (const JinjaValue& item : items->items) {
      JinjaValue member = jinja_member(runtime, item, bound[0]);
      if (member.is_undefined() && bound[1]) member = *bound[1];
      mapped.push_back(std::move(member));
    }
    return generator(std::move(mapped));
  }
  const std::string& name = string_of(arguments.positional[0]);
  const JinjaFunction filter = find_jinja_filter(name);
  if (!filter) throw JinjaError("there is no filter \"" + name + "\"");
  JinjaArguments rest = arguments;
  rest.positional.erase(rest.positional.begin());
  for (const JinjaValue& item : items->items) {
    runtime.spend_on(item);
    mapped.push_back(filter(runtime, item, rest));
  }
  return generator(std::move(mapped));
}

JinjaValue batch_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("batch", {"linecount", "fill_with"});
  if (!bound[0]) throw JinjaError("batch needs a number");
  const std::int64_t size = integer_or(bound[0], 0);
  Items batches, batch;
  const auto items = runtime.items_of(value);
  for (const JinjaValue& item : items->items) {
    if (std::cmp_equal(batch.size(), size)) batches.push_back(make_jinja_list(std::exchange(batch, {})));
    batch.push_back(item);
  }
  if (!batch.empty() && is_given(bound[1]) && std::cmp_less(batch.size(), size)) {
    runtime.spend(32 * static_cast<std::size_t>(std::min<std::int64_t>(size, INT32_MAX)));
    batch.resize(static_cast<std::size_t>(size), *bound[1]);
  }
  if (!batch.empty()) batches.push_back(make_jinja_list(std::move(batch)));
  return generator(std::move(batches));
}

// The first slices are one longer where the items do not divide evenly; a filling goes to the others only.
JinjaValue slice_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("slice", {"slices", "fill_with"});
  const std::int64_t count = bound[0] ? integer_or(bound[0], 0) : 0;
  if (count == 0) throw JinjaError("slice needs a number other than 0");
  runtime.spend(64 * static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, INT32_MAX)));
  const auto items = runtime.items_of(value);
  Items slices;
  auto next = items->items.begin();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::int64_t>(items->items.size());
    const bool is_longer = i < size % count;
    Items slice(next, next + size / count + (is_longer ? 1 : 0));
    next += static_cast<std::ptrdiff_t>(slice.size());
    if (is_given(bound[1]) && !is_longer) slice.push_back(*bound[1]);
    slices.push_back(make_jinja_list(std::move(slice)));
  }
  return generator(std::move(slices));
}

/// Which items a filter takes, and whether it looks at a member of them.
enum class Choice { select, reject };
enum class Subject { item, member };

template <Choice choice, Subject subject>
JinjaValue choosing_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  JinjaArguments rest = arguments;
  const auto take = [&]() -> std::optional<JinjaValue> {
    if (rest.positional.empty()) return std::nullopt;
    std::optional<JinjaValue> first(std::move(rest.positional.front()));
    rest.positional.erase(rest.positional.begin());
    return first;
  };
  const std::optional<JinjaValue> attribute = subject == Subject::member ? take() : std::nullopt;
  if (subject == Subject::member && !attribute) throw JinjaError("an attribute is missing");
  const std::optional<JinjaValue> name = take();
  const JinjaPredicate test = name ? find_jinja_test(string_of(*name)) : nullptr;
  if (name && !test) throw JinjaError("there is no test \"" + string_of(*name) + "\"");
  Items chosen;
  const auto items = items_if_true(runtime, value);
  for (const JinjaValue& item : items->items) {
    const JinjaValue looked_at = jinja_member(runtime, item, attribute ? &*attribute : nullptr);
    const bool passes = test ? test(runtime, looked_at, rest) : looked_at.is_true();
    if (passes == (choice == Choice::select)) chosen.push_back(item);
  }
  runtime.spend(32 * chosen.size());
  return generator(std::move(chosen));
}

JinjaValue sum_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("sum", {"attribute", "start"});
  JinjaValue total = bound[1] ? *bound[1] : JinjaValue(std::int64_t{0});
  const auto items = runtime.items_of(value);
  for (const JinjaValue& item : items->items)
    total = jinja_arithmetic(JinjaOperator::add, total, jinja_member(runtime, item, bound[0]));
  return total;
}

}  // namespace

// Jinja's make_attrgetter(): a path whose parts are tried as members, those of digits as indices.
JinjaValue jinja_member(JinjaRuntime& runtime, JinjaValue item, const JinjaValue* attribute) {
  if (!is_given(attribute)) return item;
  if (attribute->is_integer()) return runtime.item(item, *attribute);
  for (const std::string_view part : python_split(string_of(*attribute), ".", -1, PythonEnds::left)) {
    std::int64_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = !part.empty() && read.ec == std::errc() && read.ptr == part.data() + part.size();
    item = runtime.item(item, is_index ? JinjaValue(index) : JinjaValue(part));
  }
  return item;
}

JinjaFunction find_jinja_row_filter(std::string_view name) {
  static const std::map<std::string, JinjaFunction, std::less<>> kFilters{
      {"batch", batch_filter},
      {"count", length_filter},
      {"first", first_filter},
      {"items", items_filter},
      {"join", join_filter},
      {"last", last_filter},
      {"length", length_filter},
      {"list", list_filter},
      {"map", map_filter},
      {"reject", choosing_filter<Choice::reject, Subject::item>},
      {"rejectattr", choosing_filter<Choice::reject, Subject::member>},
      {"reverse", reverse_filter},
      {"select", choosing_filter<Choice::select, Subject::item>},
      {"selectattr", choosing_filter<Choice::select, Subject::member>},
      {"slice", slice_filter},
      {"sum", sum_filter},
  };
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? find_jinja_order_filter(name) : found->second;
}

}  // namespace multicard
