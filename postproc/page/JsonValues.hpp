#pragma once
/// \file Numbers, statements and figures as JSON values.

#include <nlohmann/json_fwd.hpp>

#include "postproc/figures/Figures.hpp"
#include "postproc/study/Statement.hpp"

namespace multicard::post {

/// Null for what is not known.
nlohmann::ordered_json number(double value);
nlohmann::ordered_json json_of(const Estimate& estimate);
nlohmann::ordered_json json_of(const Statement& statement);
nlohmann::ordered_json json_of(const Statements& statements);
/// With what they draw.
nlohmann::ordered_json json_of(const std::vector<Figure>& figures);

}  // namespace multicard::post
