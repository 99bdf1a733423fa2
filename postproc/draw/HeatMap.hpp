#pragma once
/// \file A heat map: a table whose cells are shaded by value.

#include <string>
#include <vector>

#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/ChartData.hpp"

namespace multicard::post {

/// From white (0) to Okabe and Ito's blue, #0072B2 (1).
std::string shade_of(double value);

enum class HeatCellKind { value, failed, absent };

struct HeatCell {
  HeatCellKind kind = HeatCellKind::absent;
  double shade = 0;  ///< 0 to 1
  std::string text;
  double value = 0;        ///< what `text` says, in full digits
  std::string hover = {};  ///< what a pointer says after row, column and text
};

/// Failed cells are crosses, absent ones empty.
struct HeatMap {
  std::string title, subtitle;
  std::string column_name, row_name;  ///< what columns and rows are; may be empty
  std::vector<std::string> columns, rows;
  std::vector<std::vector<HeatCell>> cells;  ///< [row][column]

  Drawing drawing() const;
  /// row, column, value, status: complete or unfinished. Absent cells have no row.
  ChartData data() const;
};

}  // namespace multicard::post
