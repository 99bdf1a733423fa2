#pragma once
/// \file Evidence, findings and figures as JSON values.

#include <nlohmann/json_fwd.hpp>

#include "findings/Finding.hpp"
#include "postproc/figures/Figures.hpp"

namespace multicard::post {

/// Null for what is not known.
nlohmann::ordered_json number(double value);
nlohmann::ordered_json json_of(const Estimate& estimate);
nlohmann::ordered_json json_of(const Finding& finding);
nlohmann::ordered_json json_of(const Findings& findings);
/// With what they draw.
nlohmann::ordered_json json_of(const std::vector<Figure>& figures);

}  // namespace multicard::post
