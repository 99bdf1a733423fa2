// The operators of templates.

#include <algorithm>
#include <cmath>

#include "text/jinja/JinjaRuntime.hpp"
#include "text/jinja/JinjaText.hpp"
#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

using Kind = JinjaList::Kind;

const char* symbol_of(JinjaOperator operation) {
  switch (operation) {
    case JinjaOperator::add:
      return "+";
    case JinjaOperator::subtract:
      return "-";
    case JinjaOperator::multiply:
      return "*";
    case JinjaOperator::divide:
      return "/";
    case JinjaOperator::floor_divide:
      return "//";
    case JinjaOperator::modulo:
      return "%";
    default:
      return "**";
  }
}

[[noreturn]] void fail_types(JinjaOperator operation, const JinjaValue& a, const JinjaValue& b) {
  require_defined(a);
  require_defined(b);
  throw JinjaError(std::string(a.type_name()) + " " + symbol_of(operation) + " " + b.type_name());
}

/// `result` is a reference because C++ may evaluate it before the operation that sets it.
std::int64_t checked(bool overflows, const std::int64_t& result) {
  if (overflows) throw JinjaError("a number is too large");
  return result;
}

// Python's integers have no bounds; here 64 bits must do. What exceeds them is an error and never wraps.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  for (; exponent > 0; --exponent)  // ends after 63 steps at most
    result = checked(__builtin_mul_overflow(result, base, &result), result);
  return result;
}

// Python rounds down and gives a remainder the divisor's sign; C++ cuts towards zero. INT64_MIN / -1 would trap.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  checked(a == INT64_MIN && b == -1, 0);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

JinjaValue of_integers(JinjaOperator operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (operation) {
    case JinjaOperator::add:
      return checked(__builtin_add_overflow(a, b, &result), result);
    case JinjaOperator::subtract:
      return checked(__builtin_sub_overflow(a, b, &result), result);
    case JinjaOperator::multiply:
      return checked(__builtin_mul_overflow(a, b, &result), result);
    case JinjaOperator::floor_divide:
      return floor_quotient(a, b);
    case JinjaOperator::modulo:
      return b == -1 ? std::int64_t{0} : a - floor_quotient(a, b) * b;
    default:
      return integer_power(a, b);
  }
}

JinjaValue of_reals(JinjaOperator operation, double a, double b) {
  switch (operation) {
    case JinjaOperator::add:
      return a + b;
    case JinjaOperator::subtract:
      return a - b;
    case JinjaOperator::multiply:
      return a * b;
    case JinjaOperator::divide:
      return a / b;
    case JinjaOperator::floor_divide:
      return std::floor(a / b);
    case JinjaOperator::modulo: {
      const double rest = std::fmod(a, b);
      if (rest == 0) return std::copysign(0.0, b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    }
    default: {
      const double power = std::pow(a, b);
      if (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) throw JinjaError("complex numbers are not supported");
      if (std::isinf(power) && !std::isinf(a) && !std::isinf(b)) throw JinjaError("a number is too large");
      return power;
    }
  }
}

/// What a row of values or a text becomes that is repeated.
JinjaValue repeated(JinjaRuntime& runtime, const JinjaValue& value, std::int64_t times) {
  // The product is tested by a division, since it may overflow, and the memory is counted before it is taken.
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  if (count > 0 && value.weight() > (std::size_t{1} << 40) / count) throw JinjaError("a value is too large");
  runtime.spend(value.weight() * count);
  if (const std::string* text = value.string()) {
    std::string all;
    for (std::size_t i = 0; i < (text->empty() ? 0 : count); ++i)
      all += *text;
    return all;
  }
  std::vector<JinjaValue> items;
  for (std::size_t i = 0; i < (value.list()->items.empty() ? 0 : count); ++i)
    items.insert(items.end(), value.list()->items.begin(), value.list()->items.end());
  return make_jinja_list(std::move(items), value.list()->kind);
}

bool is_repeatable(const JinjaValue& value) {
  return value.string() || (value.list() && (value.list()->kind == Kind::list || value.list()->kind == Kind::tuple));
}

}  // namespace

JinjaValue jinja_arithmetic(JinjaOperator operation, const JinjaValue& a, const JinjaValue& b) {
  if (!a.is_number() || !b.is_number()) fail_types(operation, a, b);
  const bool divides = operation == JinjaOperator::divide || operation == JinjaOperator::floor_divide ||
                       operation == JinjaOperator::modulo;
  if (b.real() == 0 ? divides : operation == JinjaOperator::power && a.real() == 0 && b.real() < 0)
    throw JinjaError("division by zero");
  const bool is_whole = a.is_integer() && b.is_integer() && operation != JinjaOperator::divide &&
                        !(operation == JinjaOperator::power && b.integer() < 0);
  return is_whole ? of_integers(operation, a.integer(), b.integer()) : of_reals(operation, a.real(), b.real());
}

JinjaValue JinjaRuntime::unary(const Expression& expression) {
  const JinjaValue value = value_of(*expression.operands[0]);
  const JinjaOperator operation = expression.operators[0];
  if (operation == JinjaOperator::negate) return !value.is_true();
  return jinja_arithmetic(operation == JinjaOperator::minus ? JinjaOperator::subtract : JinjaOperator::add,
                          std::int64_t{0}, value);
}

/// left + right of texts or rows.
JinjaValue JinjaRuntime::joined(JinjaValue left, const JinjaValue& right) {
  if (left.string() && right.string()) {
    spend(right.string()->size());
    // A temporary text grows in place, so that a ~ b ~ c ~ d copies each part once.
    if (left.append_in_place(*right.string())) return left;
    spend(left.string()->size());
    std::string text;
    text.reserve(left.string()->size() + right.string()->size());
    return text.append(*left.string()).append(*right.string());
  }
  std::vector<JinjaValue> items = left.list()->items;
  items.insert(items.end(), right.list()->items.begin(), right.list()->items.end());
  JinjaValue list = make_jinja_list(std::move(items), left.list()->kind);
  spend_on(list);
  return list;
}

// "and" and "or" return an operand, not a boolean, and evaluate the right one only if need be. Rows are added only to
// rows of their kind: list + tuple is an error in Python, too.
JinjaValue JinjaRuntime::binary(const Expression& expression) {
  const JinjaOperator operation = expression.operators[0];
  JinjaValue left = value_of(*expression.operands[0]);
  if (operation == JinjaOperator::both && !left.is_true()) return left;
  if (operation == JinjaOperator::either && left.is_true()) return left;
  JinjaValue right = value_of(*expression.operands[1]);
  switch (operation) {
    case JinjaOperator::both:
    case JinjaOperator::either:
      return right;
    case JinjaOperator::concatenate:
      return joined(left.string() ? std::move(left) : JinjaValue(text_of(left)),
                    right.string() ? right : JinjaValue(text_of(right)));
    case JinjaOperator::add: {
      const bool are_rows = left.list() && right.list() && left.list()->kind == right.list()->kind;
      if ((left.string() && right.string()) || (are_rows && is_repeatable(left))) return joined(std::move(left), right);
      break;
    }
    case JinjaOperator::multiply:
      if (is_repeatable(left) && right.is_integer()) return repeated(*this, left, right.integer());
      if (left.is_integer() && is_repeatable(right)) return repeated(*this, right, left.integer());
      break;
    case JinjaOperator::modulo:
      if (left.string()) return jinja_percent_format(*this, *left.string(), right);
      break;
    default:
      break;
  }
  return jinja_arithmetic(operation, left, right);
}

// a < b < c evaluates b once and stops at the first comparison that fails.
JinjaValue JinjaRuntime::comparison(const Expression& expression) {
  JinjaValue left = value_of(*expression.operands[0]);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    JinjaValue right = value_of(*expression.operands[i + 1]);
    if (!compare(expression.operators[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

bool JinjaRuntime::compare(JinjaOperator operation, const JinjaValue& left, const JinjaValue& right) {
  if (operation == JinjaOperator::equal) return equal(left, right);
  if (operation == JinjaOperator::unequal) return !equal(left, right);
  if (operation == JinjaOperator::in) return contains(right, left);
  if (operation == JinjaOperator::not_in) return !contains(right, left);
  spend(std::min(left.weight(), right.weight()) / 4);
  if (left.is_real() && std::isnan(left.real())) return false;
  if (right.is_real() && std::isnan(right.real())) return false;
  const int order = jinja_order(left, right);
  switch (operation) {
    case JinjaOperator::less:
      return order < 0;
    case JinjaOperator::less_equal:
      return order <= 0;
    case JinjaOperator::greater:
      return order > 0;
    default:
      return order >= 0;
  }
}

std::string jinja_percent_format(JinjaRuntime& runtime, std::string_view text, const JinjaValue& values) {
  const JinjaList* list = values.list();
  const bool is_row = list && list->kind == Kind::tuple;
  std::size_t used = 0;
  const auto next = [&]() -> const JinjaValue& {
    if (is_row ? used >= list->items.size() : used > 0) throw JinjaError("a format string needs more values");
    ++used;
    return is_row ? list->items[used - 1] : values;
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const char kind = i + 1 < text.size() ? text[++i] : '\0';
    if (kind == '%') {
      result += '%';
    } else if (kind == 's') {
      result += runtime.text_of(next());
    } else if (kind == 'd') {
      const JinjaValue& value = next();
      if (!value.is_number()) throw JinjaError("%d of what is not a number");
      if (value.is_real() && !(std::abs(value.real()) < 9.2e18)) throw JinjaError("a number is too large");
      result += std::to_string(value.is_real() ? static_cast<std::int64_t>(value.real()) : value.integer());
    } else {
      throw JinjaError("a format string is not supported");
    }
  }
  // Python complains of values left over, except of one that could be a mapping: a dict or a list may go unused.
  const bool may_be_left = values.dict() || values.is_undefined() || (list && list->is_sequence());
  if (is_row ? used < list->items.size() : used == 0 && !may_be_left)
    throw JinjaError("a format string needs fewer values");
  return result;
}

}  // namespace multicard
