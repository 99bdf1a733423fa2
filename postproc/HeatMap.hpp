#pragma once
/// \file A table of numbers whose background says how large they are.

#include <optional>
#include <string>
#include <vector>

#include "postproc/Canvas.hpp"

namespace multicard::post {

struct HeatMap {
  std::string title, subtitle;
  std::vector<std::string> columns, rows;
  std::vector<std::vector<std::optional<double>>> values;  ///< [row][column], 0 to 1; nothing is a cross

  Drawing drawing() const;
};

}  // namespace multicard::post
