// The filters of templates that compare the values of a row.

#include <algorithm>
#include <utility>

#include "text/jinja/JinjaFilterTools.hpp"
#include "text/unicode/Unicode.hpp"

namespace multicard {

namespace {

/// What is compared of a value: without regard to case unless that is wanted.
JinjaValue key_of(JinjaRuntime& runtime, const JinjaValue& value, const JinjaValue* minds_case) {
  runtime.spend(16 * value.weight());  // it is compared that often or so
  return value.string() && !is_true(minds_case) ? JinjaValue(lower_case(*value.string())) : value;
}

/// Pairs of a key and the list of the items that have it, by ascending keys.
JinjaValue groupby_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("groupby", {"attribute", "default", "case_sensitive"});
  if (!bound[0]) throw JinjaError("groupby needs an attribute");
  // Sorted by keys in small letters, and named by the key as the group's first item spells it.
  struct Keyed {
    JinjaValue key, own_key, item;
  };
  std::vector<Keyed> keyed;
  const auto items = runtime.items_of(value);
  for (const JinjaValue& item : items->items) {
    JinjaValue own_key = jinja_member(runtime, item, bound[0]);
    if (own_key.is_undefined() && is_given(bound[1])) own_key = *bound[1];
    keyed.push_back({key_of(runtime, own_key, bound[2]), own_key, item});
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const Keyed& a, const Keyed& b) { return jinja_order(a.key, b.key) < 0; });
  std::vector<JinjaValue> groups;
  for (auto first = keyed.begin(); first != keyed.end();) {
    std::vector<JinjaValue> members;
    auto next = first;
    for (; next != keyed.end() && runtime.equal(next->key, first->key); ++next)
      members.push_back(next->item);
    JinjaList pair =
        *make_jinja_list({first->own_key, make_jinja_list(std::move(members))}, JinjaList::Kind::tuple).list();
    pair.is_group = true;
    groups.emplace_back(std::make_shared<const JinjaList>(std::move(pair)));
    first = next;
  }
  return make_jinja_list(std::move(groups));
}

JinjaValue sort_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("sort", {"reverse", "case_sensitive", "attribute"});
  std::vector<std::pair<JinjaValue, JinjaValue>> keyed;
  const auto items = runtime.items_of(value);
  for (const JinjaValue& item : items->items)
    keyed.emplace_back(key_of(runtime, jinja_member(runtime, item, bound[2]), bound[1]), item);
  // A reversed comparison, not a reversed result: in Python, too, equal items keep their order then.
  const bool is_reverse = is_true(bound[0]);
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return is_reverse ? jinja_order(b.first, a.first) < 0 : jinja_order(a.first, b.first) < 0;
  });
  std::vector<JinjaValue> sorted;
  sorted.reserve(keyed.size());
  for (auto& [key, item] : keyed)
    sorted.push_back(std::move(item));
  return make_jinja_list(std::move(sorted));
}

JinjaValue unique_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("unique", {"case_sensitive", "attribute"});
  std::vector<JinjaValue> keys, chosen;
  const auto items = runtime.items_of(value);
  for (const JinjaValue& item : items->items) {
    const JinjaValue key = key_of(runtime, jinja_member(runtime, item, bound[1]), bound[0]);
    require_jinja_key(key);
    // Quadratic without hashes; equal() counts what it costs, so that the limits end a hostile list.
    if (std::any_of(keys.begin(), keys.end(), [&](const JinjaValue& other) { return runtime.equal(key, other); }))
      continue;
    keys.push_back(key);
    chosen.push_back(item);
  }
  return make_jinja_list(std::move(chosen), JinjaList::Kind::generator);
}

JinjaValue dictsort_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("dictsort", {"case_sensitive", "by", "reverse"});
  if (!value.dict()) throw JinjaError(std::string("dictsort of a ") + value.type_name());
  const bool by_value = bound[1] && string_of(*bound[1]) == "value";
  JinjaArguments sorting;
  sorting.named = {{"attribute", static_cast<std::int64_t>(by_value)},
                   {"case_sensitive", is_true(bound[0])},
                   {"reverse", is_true(bound[2])}};
  return sort_filter(runtime, find_jinja_method(value, "items")(runtime, value, {}), sorting);
}

enum class Extreme { smallest, largest };

template <Extreme extreme>
JinjaValue extreme_filter(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  const auto bound = arguments.bind("min and max", {"case_sensitive", "attribute"});
  std::optional<std::pair<JinjaValue, JinjaValue>> best;
  const auto items = runtime.items_of(value);
  for (const JinjaValue& item : items->items) {
    JinjaValue key = key_of(runtime, jinja_member(runtime, item, bound[1]), bound[0]);
    const int order = best ? jinja_order(key, best->first) : 0;
    if (!best || (extreme == Extreme::smallest ? order < 0 : order > 0)) best.emplace(std::move(key), item);
  }
  // Undefined for an empty row, where Python's min() raises an exception.
  return best ? best->second : JinjaValue();
}

}  // namespace

JinjaFunction find_jinja_order_filter(std::string_view name) {
  static const std::map<std::string, JinjaFunction, std::less<>> kFilters{
      {"dictsort", dictsort_filter},
      {"groupby", groupby_filter},
      {"max", extreme_filter<Extreme::largest>},
      {"min", extreme_filter<Extreme::smallest>},
      {"sort", sort_filter},
      {"unique", unique_filter},
  };
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? nullptr : found->second;
}

}  // namespace multicard
