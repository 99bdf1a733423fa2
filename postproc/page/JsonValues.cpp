#include "postproc/page/JsonValues.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "postproc/study/Study.hpp"

namespace multicard::post {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Evidence& numbers) {
  Json out = Json::object();
  for (const auto& [name, value] : numbers.all())
    out[name] = number(value);
  return out;
}

Json json_of(const Figure& figure) {
  Json out{{"id", figure.id}, {"title", figure.title}, {"numbers", json_of(figure.evidence)}};
  out["columns"] = figure.data.columns;
  out["rows"] = Json::array();
  for (const auto& row : figure.data.rows) {
    Json values = Json::array();
    for (const ChartValue& value : row)
      values.push_back(std::holds_alternative<double>(value) ? number(std::get<double>(value))
                                                             : Json(std::get<std::string>(value)));
    out["rows"].push_back(std::move(values));
  }
  return out;
}

}  // namespace

/// JSON has no NaN.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json json_of(const Estimate& estimate) {
  Json out{{"value", number(estimate.value)}};
  out["interval_95"] = estimate.interval
                           ? Json::array({number(estimate.interval->low), number(estimate.interval->high)})
                           : Json(nullptr);
  out["interval_over"] = text_of(estimate.basis);
  out["values"] = estimate.num_values;
  return out;
}

Json json_of(const Finding& finding) {
  Json out{{"id", finding.id}, {"text", finding.text}, {"numbers", json_of(finding.evidence)}};
  if (!finding.setting.empty()) out["setting"] = finding.setting;
  return out;
}

Json json_of(const Findings& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings)
    out.push_back(json_of(finding));
  return out;
}

Json json_of(const std::vector<Figure>& figures) {
  Json out = Json::array();
  for (const Figure& figure : figures)
    out.push_back(json_of(figure));
  return out;
}

}  // namespace multicard::post
