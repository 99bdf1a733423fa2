#include "base/JsonText.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// \param name of the value, for messages
template <class Json>
void check_finite(const Json& json, const std::string& name) {
  // The library writes null for NaN, which a reader takes for a value that is missing; so it is an error here.
  if (json.is_number_float()) json_number(json.template get<double>(), name.empty() ? "a number" : name);
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items())
    if (value.is_structured() || value.is_number_float()) check_finite(value, name.empty() ? key : name + "." + key);
}

template <class Json>
std::string text_of(const Json& json, int indent) {
  check_finite(json, "");
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace

double json_number(double value, std::string_view name) {
  if (std::isfinite(value)) return value;
  throw NumericalError(fmt::format("{} is {}", name, value), "JSON has finite numbers only");
}

std::string json_text(const nlohmann::json& json, int indent) {
  return text_of(json, indent);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return text_of(json, indent);
}

}  // namespace multicard
