#pragma once
/// \file A table of numbers whose background says how large they are.

#include <string>
#include <vector>

#include "postproc/Canvas.hpp"

namespace multicard::post {

enum class HeatCellKind { value, failed, absent };

struct HeatCell {
  HeatCellKind kind = HeatCellKind::absent;
  double value = 0;  ///< 0 to 1
};

/// Failed cells are crosses, absent ones empty.
struct HeatMap {
  std::string title, subtitle;
  std::vector<std::string> columns, rows;
  std::vector<std::vector<HeatCell>> cells;  ///< [row][column]

  Drawing drawing() const;
};

}  // namespace multicard::post
