#pragma once
/// \file Boxes beside each other: the spread of a time on each rank.

#include <string>
#include <vector>

#include "postproc/RunReport.hpp"

namespace multicard::post {

struct BoxColumn {
  std::string label;
  Box outer{};  ///< drawn as an outline behind
  Box inner{};  ///< drawn filled
  bool marked = false;
};

struct BoxChart {
  std::string title, subtitle, x_name, y_name, outer_name, inner_name, marked_name;
  std::vector<BoxColumn> columns;

  /// The gnuplot script: boxes from the 25th to the 75th percentile with the median, whiskers from the 5th to the 95th.
  std::string script() const;
};

}  // namespace multicard::post
