#include "postproc/page/Columns.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/page/JsonValues.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

/// What is not finite is a dash, and sorts last ("nan").
HtmlCell cell_of(double value, Format format) {
  if (format == Format::percent) return {percent(value), value};
  if (!std::isfinite(value) || (format == Format::bytes_if_any && value <= 0)) return {"–", value};
  switch (format) {
    case Format::three_digits:
      return {significant(value, 3), value};
    case Format::milliseconds:
      return {significant(1000 * value), 1000 * value};
    case Format::factor:
      return {alike(value, value, 3), value};
    case Format::count:
      return {grouped(std::llround(value)), value};
    case Format::bytes:
    case Format::bytes_if_any:
      return {human_bytes(value), value};
    default:
      return {significant(value), value};
  }
}

/// Nine digits distinguish what is measured; not known: an empty field.
std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string();
}

}  // namespace

HtmlCell Value::shown(Format format) const {
  if (const auto* text = std::get_if<std::string>(&value_)) return {*text};
  if (const auto* cell = std::get_if<HtmlCell>(&value_)) return *cell;
  if (const auto* number = std::get_if<double>(&value_)) return cell_of(*number, format);
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) return cell_of(static_cast<double>(*whole), format);
  const auto& estimate = std::get<Estimate>(value_);
  // Only these show intervals; the others are of the value.
  if (format != Format::plain && format != Format::three_digits) return cell_of(estimate.value, format);
  return {with_interval(estimate, format == Format::plain ? 4 : 3), estimate.value};
}

/// The members of nlohmann::ordered_json stay in the order in which they are added.
void Value::add_to(Json& object, const std::string& name) const {
  if (std::holds_alternative<std::monostate>(value_)) return;
  Json& out = object[name];  // null
  if (const auto* truth = std::get_if<bool>(&value_)) out = *truth;
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) out = *whole;
  if (const auto* number = std::get_if<double>(&value_)) out = post::number(*number);
  if (const auto* text = std::get_if<std::string>(&value_)) out = *text;
  if (const auto* estimate = std::get_if<Estimate>(&value_)) out = json_of(*estimate);
  if (const auto* json = std::get_if<Json>(&value_)) out = *json;
}

void Value::add_to(std::vector<std::pair<std::string, std::string>>& csv, const std::string& name) const {
  if (const auto* estimate = std::get_if<Estimate>(&value_)) {
    const Interval interval = estimate->interval.value_or(Interval{});
    csv.emplace_back(name, csv_number(estimate->value));
    csv.emplace_back(name + "_low", csv_number(interval.low));
    csv.emplace_back(name + "_high", csv_number(interval.high));
    return;
  }
  std::string& field = csv.emplace_back(name, std::string()).second;
  if (const auto* truth = std::get_if<bool>(&value_)) field = *truth ? "1" : "0";
  if (const auto* whole = std::get_if<std::int64_t>(&value_)) field = std::to_string(*whole);
  if (const auto* number = std::get_if<double>(&value_)) field = csv_number(*number);
  if (const auto* text = std::get_if<std::string>(&value_)) field = *text;
}

}  // namespace multicard::post
