// The tests of templates: what follows "is".

#include <algorithm>

#include "text/jinja/JinjaFilterTools.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

/// A test that takes nothing but the value.
template <auto function>
bool plain(JinjaRuntime&, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("a test", {});
  return function(value);
}

const JinjaValue& other(const JinjaArguments& arguments) {
  const auto bound = arguments.bind("a test", {"other"});
  if (!bound[0]) throw JinjaError("a test needs a value to compare with");
  return *bound[0];
}

bool equal_test(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  return runtime.equal(value, other(arguments));
}
bool unequal_test(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  return !runtime.equal(value, other(arguments));
}
bool in_test(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  return runtime.contains(other(arguments), value);
}

template <auto accepts>
bool order_test(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  runtime.spend(std::min(value.weight(), other(arguments).weight()));
  return accepts(jinja_order(value, other(arguments)));
}

bool divisible_test(JinjaRuntime&, const JinjaValue& value, const JinjaArguments& arguments) {
  return !jinja_arithmetic(JinjaOperator::modulo, value, other(arguments)).is_true();
}

// Python's "is": true, false and none are single objects, lists and dicts are compared by address. Whether two texts or
// floats are one object depends on the interpreter, so that the question is refused.
bool same_test(JinjaRuntime&, const JinjaValue& value, const JinjaArguments& arguments) {
  const JinjaValue& as = other(arguments);
  if (value.is_boolean() || as.is_boolean())
    return value.is_boolean() && as.is_boolean() && value.boolean() == as.boolean();
  if (value.is_none() || as.is_none()) return value.is_none() && as.is_none();
  if (value.is_integer() && as.is_integer()) return value.integer() == as.integer();
  if (value.list() || value.dict())
    return (value.list() && value.list() == as.list()) || (value.dict() && value.dict() == as.dict());
  throw JinjaError("sameas is not supported for such values");
}

bool is_odd(const JinjaValue& value) {
  return jinja_arithmetic(JinjaOperator::modulo, value, std::int64_t{2}).real() == 1;
}
bool is_even(const JinjaValue& value) {
  return jinja_arithmetic(JinjaOperator::modulo, value, std::int64_t{2}).real() == 0;
}

template <auto has_case>
bool case_test(JinjaRuntime& runtime, const JinjaValue& value, const JinjaArguments& arguments) {
  arguments.bind("a test", {});
  runtime.spend(8 * value.weight());  // two changes of case, one character after the other
  return has_case(runtime.text_of(value));
}

}  // namespace

JinjaPredicate find_jinja_test(std::string_view name) {
  using Value = const JinjaValue&;
  static const std::map<std::string, JinjaPredicate, std::less<>> kTests{
      {"==", equal_test},
      {"eq", equal_test},
      {"equalto", equal_test},
      {"ne", unequal_test},
      {"!=", unequal_test},
      {"in", in_test},
      {"sameas", same_test},
      {"divisibleby", divisible_test},
      {"lt", order_test<[](int order) { return order < 0; }>},
      {"lessthan", order_test<[](int order) { return order < 0; }>},
      {"<", order_test<[](int order) { return order < 0; }>},
      {"le", order_test<[](int order) { return order <= 0; }>},
      {"<=", order_test<[](int order) { return order <= 0; }>},
      {"gt", order_test<[](int order) { return 0 < order; }>},
      {"greaterthan", order_test<[](int order) { return 0 < order; }>},
      {">", order_test<[](int order) { return 0 < order; }>},
      {"ge", order_test<[](int order) { return 0 <= order; }>},
      {">=", order_test<[](int order) { return 0 <= order; }>},
      {"boolean", plain<[](Value value) { return value.is_boolean(); }>},
      // Jinja's Undefined has __call__, which raises, and passes callable() all the same. It also has a length of 0.
      {"callable", plain<[](Value value) { return value.callable() || value.is_undefined(); }>},
      {"defined", plain<[](Value value) { return !value.is_undefined(); }>},
      {"undefined", plain<[](Value value) { return value.is_undefined(); }>},
      {"even", plain<is_even>},
      {"odd", plain<is_odd>},
      {"false", plain<[](Value value) { return value.is_boolean() && !value.boolean(); }>},
      {"true", plain<[](Value value) { return value.is_boolean() && value.boolean(); }>},
      {"float", plain<[](Value value) { return value.is_real(); }>},
      {"integer", plain<[](Value value) { return value.is_integer() && !value.is_boolean(); }>},
      {"number", plain<[](Value value) { return value.is_number(); }>},
      {"iterable",
       plain<[](Value value) { return value.is_undefined() || value.string() || value.list() || value.dict(); }>},
      {"sequence", plain<[](Value value) {
         return value.is_undefined() || value.string() || value.dict() || (value.list() && value.list()->is_sequence());
       }>},
      {"lower", case_test<python_is_lower>},
      {"upper", case_test<python_is_upper>},
      {"mapping", plain<[](Value value) { return value.dict() != nullptr; }>},
      {"none", plain<[](Value value) { return value.is_none(); }>},
      {"string", plain<[](Value value) { return value.is_string(); }>},
  };
  const auto found = kTests.find(name);
  return found == kTests.end() ? nullptr : found->second;
}

}  // namespace multicard
